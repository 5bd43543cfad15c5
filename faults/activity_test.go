package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/activity"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// outsideVariable is the environment variable that makes this program an outside worker. It contains the URL of a server.
const outsideVariable = "SWRUN_FAULTS_OUTSIDE"

// performOutside performs activities until it is killed. Each activity calls the sink, and returns the number of the attempt that ended.
func performOutside(server, sink string) error {
	w, err := activity.New(activity.Config{Server: server, Concurrency: 5})
	if err != nil {
		return err
	}
	err = w.Register("work", func(ctx context.Context, t *activity.Task) (any, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, sink+"/work", nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Idempotency-Key", t.Key)
		r.Header.Set("X-Swrun-Attempt", strconv.Itoa(t.Attempt))
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		response.Body.Close()
		_ = t.Heartbeat(ctx, map[string]any{"attempt": t.Attempt}) // the end of ctx is handled below
		time.Sleep(10 * time.Millisecond)                          // work that nothing interrupts
		return map[string]any{"attempt": t.Attempt}, nil
	})
	if err != nil {
		return err
	}
	return w.Run(context.Background())
}

// site is a server with the proxy before it, and the programs that use it.
type site struct {
	address string
	proxy   *proxy
	server  *worker
	asked   atomic.Int64 // events that were posted and are not answered
}

// serve starts a server that reaches Redis through the proxy.
func (w *world) serve(s *site) {
	w.Helper()
	s.server = w.spawn(exec.Command(binary, "serve", "--store", "redis://"+w.proxy.addr, "--network", "any", "--lease", lease.String(), "--listen", s.address))
}

// site starts a server, and the proxy by which outside workers reach it.
func (w *world) site() *site {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	s := &site{address: l.Addr().String()}
	l.Close() // the server uses it from now on
	s.proxy = startProxy(w.T, s.address)
	w.serve(s)
	return s
}

// outside starts an outside worker of a server.
func (w *world) outside(s *site) *worker {
	w.Helper()
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), outsideVariable+"=http://"+s.proxy.addr, outsideVariable+"_SINK="+w.sink.url)
	return w.spawn(c)
}

// activities returns a workflow of n activities in a row.
func activities(n int) string {
	var b strings.Builder
	b.WriteString("do:\n")
	for i := range n {
		fmt.Fprintf(&b, "- a%d: {call: 'activity:1.0.0@default', with: {type: work, timeouts: {startToClose: PT4S, heartbeat: PT1.5S}, retry: {maxAttempts: 0, backoff: [PT0.1S]}}}\n", i)
	}
	return b.String()
}

// outsideWorld is two servers on one Redis, with two outside workers each.
type outsideWorld struct {
	*world
	sites    []*site
	outsides []*worker
}

const eachActivities = 6

func newOutsideWorld(t *testing.T, runs int, delay time.Duration) *outsideWorld {
	t.Helper()
	w := &outsideWorld{world: newWorld(t, delay)}
	w.sites = []*site{w.site(), w.site()}
	for n := range 4 {
		w.outsides = append(w.outsides, w.outside(w.sites[n%2]))
	}
	w.start(runs, activities(eachActivities))
	return w
}

// verify checks each activity: one end, which is the end of the attempt that its result names; attempts with the numbers 1, 2, 3; and no timeout that
// is early, or later than bound.
func (w *outsideWorld) verify(bound time.Duration) (timeouts int) {
	w.Helper()
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		last := map[interpreter.EffectID]int{}
		for _, e := range entries {
			for _, r := range e.Events {
				if r.Type != interpreter.EffectRetried && r.Type != interpreter.EffectFinished {
					continue
				}
				if last[r.Effect]++; r.Attempt != last[r.Effect] {
					w.Errorf("%s: attempt %d at activity %d ends after %d others", i, r.Attempt, r.Effect, last[r.Effect]-1)
				}
				if data, _ := json.Marshal(r.Data); r.Type == interpreter.EffectFinished && string(data) != fmt.Sprintf(`{"attempt":%d}`, r.Attempt) {
					w.Errorf("%s: attempt %d at activity %d has the result %s", i, r.Attempt, r.Effect, data)
				}
				timeouts += w.verifyTimeout(i, r, e.CommittedAt, bound)
			}
		}
	})
	if keys, _ := w.sink.counts(); keys != len(w.runs)*eachActivities {
		w.Errorf("%d different activities were performed, want %d", keys, len(w.runs)*eachActivities)
	}
	return timeouts
}

func (w *outsideWorld) verifyTimeout(i store.Instance, r interpreter.HistoryEvent, stored time.Time, bound time.Duration) int {
	w.Helper()
	if r.Timeout == "" {
		return 0
	}
	text, _ := r.Error.Extensions["deadline"].(string)
	deadline, err := time.Parse(time.RFC3339Nano, text)
	if late := stored.Sub(deadline); err != nil || late < 0 || late > bound {
		w.Errorf("%s: the %s of attempt %d at activity %d was %s late, %v", i, r.Timeout, r.Attempt, r.Effect, late, err)
	}
	return 1
}

// TestKillOutside: outside workers and servers are killed, stopped for longer than a heartbeat and a lease, and cut off from each other and from
// Redis. Nothing is lost, and one end of each activity counts.
func TestKillOutside(t *testing.T) {
	w := newOutsideWorld(t, of(80), 250*time.Millisecond)
	harms := []func(){
		func() {
			n := rand.IntN(len(w.outsides))
			w.outsides[n].kill()
			w.outsides[n] = w.outside(w.sites[n%2])
		},
		func() {
			s := w.sites[rand.IntN(len(w.sites))]
			s.server.kill()
			w.serve(s)
		},
		func() { w.stopFor(w.outsides[rand.IntN(len(w.outsides))], 2*time.Second) },
		func() { w.stopFor(w.sites[rand.IntN(len(w.sites))].server, lease+500*time.Millisecond) },
		func() { w.cutFor(w.sites[rand.IntN(len(w.sites))].proxy, 2*time.Second) },
		func() { w.cutFor(w.proxy, time.Second) },
		func() { w.proxy.reset() },
	}
	done := 0
	for ; w.closed() < int64(len(w.runs)) && done < len(harms)*of(1); done++ {
		time.Sleep(150 * time.Millisecond)
		harms[done%len(harms)]()
	}
	if done < len(harms) {
		t.Errorf("only %d of %d kinds of harm were done", done, len(harms))
	}
	timeouts := w.verify(lease + soon) // while servers are stopped and Redis cannot be reached, no process ends anything
	_, again := w.sink.counts()
	t.Logf("%d harms, %d timeouts, %d attempts beyond the first", done, timeouts, again)
	if timeouts == 0 {
		t.Error("nothing has timed out: nothing was tested")
	}
}

// stopFor stops a process for a while.
func (w *outsideWorld) stopFor(k *worker, d time.Duration) {
	w.signal(k, syscall.SIGSTOP)
	time.Sleep(d)
	w.signal(k, syscall.SIGCONT)
}

// cutFor cuts the connections through a proxy for a while.
func (w *outsideWorld) cutFor(p *proxy, d time.Duration) {
	p.cut.Store(true)
	p.reset()
	time.Sleep(d)
	p.cut.Store(false)
}

// TestRedisRestartsOutside: Redis is killed while activities are performed, and started again on its append-only file.
func TestRedisRestartsOutside(t *testing.T) {
	w := newOutsideWorld(t, of(30), 50*time.Millisecond)
	for restarts := range 2 {
		for w.progressed() < (restarts+1)*len(w.runs) && w.closed() < int64(len(w.runs)) {
			time.Sleep(5 * time.Millisecond)
		}
		w.redis.Kill()
		time.Sleep(time.Second)
		w.redis.Run()
	}
	w.verify(soon)
}
