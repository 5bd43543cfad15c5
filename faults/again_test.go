package faults

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// orderService is a service that takes orders, and packs what was ordered. It knows a request that is sent again by its idempotency key.
type orderService struct {
	down atomic.Bool // it takes no orders, and still packs

	mu   sync.Mutex
	keys map[string]map[string]int // how many requests there were, by path and key
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

// sent returns how many different requests of a path there were.
func (o *orderService) sent(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.keys[path])
}

// command runs the program on the store, and returns the lines that it prints. It may fail: the store may be down.
func (w *world) command(args ...string) []string {
	out, err := exec.Command(binary, append(args, "--store", w.redis.URL())...).Output()
	if err != nil {
		w.Logf("%s: %v", strings.Join(args, " "), err)
	}
	return strings.Fields(string(out))
}

// rests waits until no run is in progress.
func (w *world) rests() {
	w.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if got := w.command("ls", "--where", "status!=faulted,completed", "--count", "-o", "json", "--jq", ".count"); len(got) == 1 && got[0] == "0" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal("runs are still in progress")
		}
	}
}

// TestRetriedInBulkOnce: all runs that have failed are retried in bulk ten times while the service is down, workers are killed and Redis is
// restarted. Each order has one idempotency key, and what another branch has completed is not sent again.
func TestRetriedInBulkOnce(t *testing.T) {
	w := newWorld(t, 0)
	service := &orderService{keys: map[string]map[string]int{}}
	service.down.Store(true)
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	call := func(path string) string {
		return "{call: http, with: {method: post, endpoint: '" + server.URL + path + "', body: {}}}"
	}
	const runs = 20
	w.start(runs, "do: [{f: {fork: {branches: [{a: "+call("/pack")+"}, {b: {do: [{w: {wait: {milliseconds: 200}}}, {o: "+call("/order")+"}]}}]}}}]")
	k := w.work()
	w.rests()
	skipped := 0
	for n := range 10 {
		service.down.Store(n < 7)
		var group sync.WaitGroup
		for range 2 { // somebody else gives the same command
			group.Go(func() { w.command("retry", "--where", "status=faulted", "--yes") })
		}
		switch n % 3 {
		case 1:
			k.kill()
		case 2:
			w.redis.Kill()
			w.redis.Run()
		}
		group.Wait()
		if n%3 == 1 {
			k = w.work()
		}
		w.rests()
		for _, word := range w.command("retry", "--where", "status=faulted forked=yes", "--yes") {
			if word == "skipped:" {
				skipped++
			}
		}
	}
	done := w.command("ls", "--where", "status=completed", "--count", "-o", "json", "--jq", ".count")
	if got := fmt.Sprint(done, service.sent("/order"), service.sent("/pack"), skipped > 0); got != fmt.Sprintf("[%d] %d %d true", runs, runs, runs) {
		t.Errorf("%s: completed runs, orders, packings, and whether runs were skipped", got)
	}
	if left := w.command("ls", "--where", "attention=failed", "-o", "name"); len(left) > 0 {
		t.Errorf("somebody should still look at %s", left)
	}
}
