package faults

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
)

// orderService is a service that takes orders, and packs them. It recognizes a repeated request by its idempotency key.
type orderService struct {
	down atomic.Bool // it takes no orders, and still packs

	mu   sync.Mutex
	keys map[string]map[string]int // number of requests, by path and key
}

func (o *orderService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	if o.keys[r.URL.Path] == nil {
		o.keys[r.URL.Path] = map[string]int{}
	}
	o.keys[r.URL.Path][r.Header.Get("Idempotency-Key")]++
	o.mu.Unlock()
	if r.URL.Path == "/order" && o.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// sent returns the number of different requests for a path.
func (o *orderService) sent(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.keys[path])
}

// shop is a store with the processes that work on its runs, and the service that they call.
type shop struct {
	*testing.T
	store   string // its URL
	service *orderService
	// fault lets a process crash, of one kind or the other. The returned function repairs it later.
	fault func(kind int) (mend func())
}

// command runs the program on the store, and returns the words of its output. It may fail: the store may be down.
func (s *shop) command(args ...string) []string {
	out, err := exec.Command(binary, append(args, "--store", s.store)...).Output()
	if err != nil {
		s.Logf("%s: %v", strings.Join(args, " "), err)
	}
	return strings.Fields(string(out))
}

// count returns the number of runs that match.
func (s *shop) count(where string) string {
	return strings.Join(s.command("ls", "--where", where, "--count", "-o", "json", "--jq", ".count"), " ")
}

// rests waits until no run is in progress.
func (s *shop) rests() {
	s.Helper()
	for deadline := time.Now().Add(pacetest.Patience); s.count("status!=faulted,completed") != "0"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal("runs are still in progress")
		}
	}
}

// redisShop has a Redis that is killed, and a worker that is killed.
func redisShop(t *testing.T) *shop {
	w := newWorld(t, 0)
	k := w.work()
	return &shop{T: t, store: w.redis.URL(), fault: func(kind int) func() {
		if kind == 2 {
			w.redis.Kill()
			w.redis.Run()
			return func() {}
		}
		k.kill()
		return func() { k = w.work() }
	}}
}

// fileShop has a server that is killed: it holds the file, and works on its runs. Without the server, commands change the file themselves.
func fileShop(t *testing.T) *shop {
	w, file := &world{T: t}, filepath.Join(t.TempDir(), "runs.db")
	serve := func() *worker {
		k := w.spawn(exec.Command(binary, "serve", "--store", "file:"+file, "--network", "any", "--lease", lease.String(), "--listen", "127.0.0.1:0"))
		w.await("the server listens", func() bool { return k.told("listening") })
		return k
	}
	k := serve()
	return &shop{T: t, store: "file:" + file, fault: func(kind int) func() {
		k.kill()
		if kind == 2 {
			k = serve()
			return func() {}
		}
		return func() { k = serve() }
	}}
}

// open deploys the workflow of an order, and starts some runs of it.
func (s *shop) open(runs int) {
	s.Helper()
	s.service = &orderService{keys: map[string]map[string]int{}}
	s.service.down.Store(true)
	server := httptest.NewServer(s.service)
	s.Cleanup(server.Close)
	call := func(path string) string {
		return "{call: http, with: {method: post, endpoint: '" + server.URL + path + "', body: {}}}"
	}
	file := filepath.Join(s.TempDir(), "order.yaml")
	document := "document: {dsl: 1.0.3, namespace: demo, name: order, version: 1.0.0}\n" +
		"do: [{f: {fork: {branches: [{a: " + call("/pack") + "}, {b: {do: [{w: {wait: {milliseconds: 200}}}, {o: " + call("/order") + "}]}}]}}}]\n"
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		s.Fatal(err)
	}
	s.command("deploy", file)
	for n := range runs {
		s.command("start", "demo/order", "--id", fmt.Sprint("order-", n))
	}
}

// TestContinuedInBulkOnce: all failed runs are retried, or forked, in bulk ten times, by two people at the same time, while the service is down and
// the workers are killed. Each order has one idempotency key, and requests that another branch has completed are not repeated.
func TestContinuedInBulkOnce(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *shop{"redis": redisShop, "file": fileShop} {
		for _, verb := range []string{"retry", "fork"} {
			t.Run(verb+" on "+name, func(t *testing.T) {
				t.Parallel()
				start(t).continues(verb)
			})
		}
	}
}

func (s *shop) continues(verb string) {
	const runs = 20
	s.open(runs)
	s.rests()
	skipped := 0
	for n := range 10 {
		s.service.down.Store(n < 7)
		var people sync.WaitGroup
		for range 2 {
			people.Go(func() { s.command(verb, "--where", "status=faulted", "--yes") })
		}
		mend := func() {}
		if n%3 > 0 {
			mend = s.fault(n % 3)
		}
		people.Wait()
		mend()
		s.rests()
		for _, word := range s.command(verb, "--where", "status=faulted forked=yes", "--yes") {
			if word == "skipped:" {
				skipped++
			}
		}
	}
	if got := fmt.Sprint(s.count("status=completed"), " ", s.service.sent("/order"), " ", s.service.sent("/pack"), " ", skipped > 0); got != fmt.Sprintf("%d %d %d true", runs, runs, runs) {
		s.Errorf("%s: completed runs, orders, packings, and whether runs were skipped", got)
	}
	if left := s.command("ls", "--where", "attention=failed", "-o", "name"); len(left) > 0 {
		s.Errorf("somebody should still look at %s", left)
	}
}
