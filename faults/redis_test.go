package faults

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// during calls f repeatedly until all runs are ended, and returns how often f caused a fault.
func (w *world) during(every time.Duration, f func() bool) (harm int) {
	w.Helper()
	for deadline := time.Now().Add(pacetest.Patience); w.closed() < int64(len(w.runs)); time.Sleep(every) {
		if time.Now().After(deadline) {
			w.unfinished()
			w.Fatalf("%d of %d runs have ended", w.closed(), len(w.runs))
		}
		if f() {
			harm++
		}
	}
	return harm
}

// TestLostReplies (F13): replies of Redis are lost after it has carried out the operation. Repeating the same operation changes nothing.
func TestLostReplies(t *testing.T) {
	w := newWorld(t, time.Millisecond)
	const each = 10
	w.start(of(100), calls(each))
	w.proxy.drop.Store(23)
	w.work()
	w.work()
	w.during(50*time.Millisecond, func() bool { return false })
	if w.proxy.dropped.Load() == 0 {
		t.Fatal("no reply was lost: nothing was tested")
	}
	w.proxy.drop.Store(0)
	w.audit(interpreter.StatusCompleted, nil)
	keys, again := w.sink.counts()
	t.Logf("%d replies lost, %d effects repeated", w.proxy.dropped.Load(), again)
	if keys != len(w.runs)*each {
		t.Errorf("%d different effects, want %d", keys, len(w.runs)*each)
	}
}

// TestResets: connections to Redis break repeatedly.
func TestResets(t *testing.T) {
	w := newWorld(t, 2*time.Millisecond)
	const each = 10
	w.start(of(100), calls(each))
	w.work()
	w.work()
	harm := w.during(60*time.Millisecond, func() bool { return w.proxy.reset() > 0 })
	if harm == 0 {
		t.Fatal("no connection was broken: nothing was tested")
	}
	w.audit(interpreter.StatusCompleted, nil)
	if keys, _ := w.sink.counts(); keys != len(w.runs)*each {
		t.Errorf("%d different effects, want %d", keys, len(w.runs)*each)
	}
}

// TestRedisRestarts (F20): Redis is killed and started again on its append-only file.
func TestRedisRestarts(t *testing.T) {
	w := newWorld(t, 20*time.Millisecond)
	const each = 20
	w.start(of(60), calls(each))
	k := w.work()
	w.await("no call was made", func() bool { return w.progressed() > 0 }) // a worker does not start while Redis is away
	restarts := 0
	for restarts < 3 && w.progressed() < len(w.runs)*each {
		time.Sleep(200 * time.Millisecond)
		w.redis.Kill()
		time.Sleep(time.Second)
		w.redis.Run()
		restarts++
	}
	if !k.told("the store does not answer") {
		t.Error("the worker does not tell of it")
	}
	if w.closed() == int64(len(w.runs)) {
		t.Log("all runs had ended before the last restart")
	}
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, nil)
	if keys, _ := w.sink.counts(); keys != len(w.runs)*each {
		t.Errorf("%d different effects, want %d", keys, len(w.runs)*each)
	}
}

// TestRedisLosesWrites (F22): Redis returns to an earlier state. This is noticed, all former tokens become invalid, and everything continues from
// there: effects may be repeated, and each is committed once.
func TestRedisLosesWrites(t *testing.T) {
	w := newWorld(t, 10*time.Millisecond, "--appendonly", "no")
	const each = 20
	w.start(of(40), calls(each))
	w.work("--concurrency", "10")
	for back := range 2 {
		w.reach((back + 1) * len(w.runs) * each / 8)
		if err := w.redisClient().Save(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		w.reach((back + 3) * len(w.runs) * each / 8)
		w.redis.Kill()
		w.redis.Run()
	}
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, nil)
	keys, again := w.sink.counts()
	if keys != len(w.runs)*each {
		t.Errorf("%d different effects, want %d", keys, len(w.runs)*each)
	}
	var losses int64
	for p := range w.store.Layout().Partitions {
		st, err := w.store.Statistics(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		losses += st.Losses
	}
	if losses == 0 {
		t.Fatal("no partition has noticed a loss")
	}
	t.Logf("%d losses were noticed, %d effects repeated", losses, again)
}

// reach waits until a number of effects were requested.
func (w *world) reach(n int) {
	w.Helper()
	for deadline := time.Now().Add(pacetest.Patience); w.progressed() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%d of %d effects were asked for", w.progressed(), n)
		}
	}
}

// TestScriptFlush (F37): Redis loses its scripts repeatedly.
func TestScriptFlush(t *testing.T) {
	w := newWorld(t, 2*time.Millisecond)
	w.start(of(100), calls(10))
	w.work()
	admin := w.redisClient()
	harm := w.during(10*time.Millisecond, func() bool { return admin.ScriptFlush(context.Background()).Err() == nil })
	if harm == 0 {
		t.Fatal("nothing was flushed: nothing was tested")
	}
	w.audit(interpreter.StatusCompleted, nil)
	if keys, again := w.sink.counts(); keys != len(w.runs)*10 || again != 0 {
		t.Errorf("%d effects, %d repeated", keys, again)
	}
}

// TestQuarantine (F39): a run whose worker dies at the same step repeatedly is quarantined, and the others continue.
func TestQuarantine(t *testing.T) {
	w := newWorld(t, time.Minute)
	w.start(1, "do:\n- poison: {call: http, with: {method: get, endpoint: '@SINK/poison'}}\n")
	poisoned := w.runs[0]
	var killing sync.WaitGroup
	for range 5 {
		k := w.work()
		seen := w.requests("/poison")
		for deadline := time.Now().Add(pacetest.Patience); w.requests("/poison") == seen; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the step is not tried again")
			}
		}
		killing.Go(func() { k.kill() })
		killing.Wait()
	}
	w.work()
	for deadline := time.Now().Add(pacetest.Patience); ; time.Sleep(20 * time.Millisecond) {
		l, err := w.store.Load(t.Context(), poisoned)
		if err != nil {
			t.Fatal(err)
		}
		if l.Lifecycle.Reason == "quarantined" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run is %+v", l.Lifecycle)
		}
	}
	w.tellsOfQuarantine(poisoned)
	tried := w.requests("/poison")
	if _, err := w.client.Retry(t.Context(), poisoned, client.RetryOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(pacetest.Patience); w.requests("/poison") == tried; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the run was released, and is not tried again")
		}
	}
}

// tellsOfQuarantine checks that the history of the command contains the lost workers, and the quarantine (promise 227).
func (w *world) tellsOfQuarantine(i store.Instance) {
	w.Helper()
	out, err := exec.CommandContext(w.Context(), binary, "history", i.String(), "--store", "redis://"+w.proxy.addr, "-o", "json",
		"--jq", `[.records[].type] | [map(select(. == "workflow.worker-lost")), map(select(. == "workflow.quarantined"))] | map(length)`).Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "[5,1]" {
		w.Errorf("the history tells of %s lost workers and quarantines, %v", got, err)
	}
}

// requests returns the number of requests for a path.
func (w *world) requests(path string) (n int) {
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	for _, all := range w.sink.requests {
		for _, r := range all {
			if r.path == path {
				n++
			}
		}
	}
	return n
}

// trouble is a state in which a server refuses requests.
type trouble struct {
	name        string
	begin, over []string // as commands
	hold        func(context.Context, *redis.Client)
}

func troubles() []trouble {
	return []trouble{
		{name: "OOM", begin: []string{"CONFIG SET maxmemory 1"}, over: []string{"CONFIG SET maxmemory 0"}},
		{name: "READONLY", begin: []string{"REPLICAOF 127.0.0.1 1"}, over: []string{"REPLICAOF NO ONE"}},
		{name: "NOREPLICAS", begin: []string{"CONFIG SET min-replicas-to-write 1"}, over: []string{"CONFIG SET min-replicas-to-write 0"}},
		{name: "NOPERM on scripts", begin: []string{"ACL SETUSER default -evalsha -eval"}, over: []string{"ACL SETUSER default +@all"}},
		{name: "NOPERM on reads", begin: []string{"ACL SETUSER default -hget"}, over: []string{"ACL SETUSER default +@all"}},
		{name: "NOAUTH", begin: []string{"CONFIG SET requirepass secret", "CLIENT KILL TYPE normal SKIPME yes"}, over: []string{"CONFIG SET requirepass "}},
		{name: "BUSY", begin: []string{"CONFIG SET busy-reply-threshold 10"}, hold: func(ctx context.Context, admin *redis.Client) {
			_ = admin.Eval(ctx, "local t = redis.call('TIME') while redis.call('TIME')[1] - t[1] < 2 do end", nil).Err() // the error is the trouble itself
		}},
		{name: "no connections", begin: []string{"CONFIG SET maxclients 1", "CLIENT KILL TYPE normal SKIPME yes"}, over: []string{"CONFIG SET maxclients 10000"}},
	}
}

// TestServerErrors (F18b): the server refuses everything for a while, in each of its ways. Nothing is lost, nothing is quarantined, and no action is
// needed when it is over.
func TestServerErrors(t *testing.T) {
	for _, trouble := range troubles() {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 10*time.Millisecond)
			admin := w.redisClient()
			admin.Ping(t.Context()) // it is connected before all others
			const each = 20
			w.start(of(40), calls(each))
			w.work("--concurrency", "5") // so that it must also claim runs during the trouble
			w.reach(each)
			w.give(admin, trouble.begin)
			if trouble.hold != nil {
				trouble.hold(t.Context(), admin)
			} else {
				time.Sleep(time.Second)
			}
			w.give(admin, trouble.over)
			if w.closed() == int64(len(w.runs)) {
				t.Fatal("all runs had ended before it was over: nothing was tested")
			}
			w.settle(pacetest.Patience)
			w.audit(interpreter.StatusCompleted, nil)
			if keys, _ := w.sink.counts(); keys != len(w.runs)*each {
				t.Errorf("%d different effects, want %d", keys, len(w.runs)*each)
			}
			for _, i := range w.runs {
				if l, err := w.store.Load(t.Context(), i); err != nil || l.Lifecycle.Deaths > 0 {
					t.Errorf("the run is %+v, %v", l.Lifecycle, err)
				}
			}
		})
	}
}

// give lets the server carry out commands.
func (w *world) give(admin *redis.Client, commands []string) {
	w.Helper()
	for _, text := range commands {
		var args []any
		for _, word := range strings.Split(text, " ") {
			args = append(args, word)
		}
		if err := admin.Do(context.Background(), args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
			w.Fatalf("%s: %v", text, err)
		}
	}
}

// TestServerClockJumps (F27, F28): the server's clock jumps an hour ahead, and later an hour back, under load. No timeout fires because of it, none
// is lost, and time continues.
func TestServerClockJumps(t *testing.T) {
	w := newWorldOn(t, redistest.StartWithClock(t, "--appendonly", "yes", "--appendfsync", "no"), 5*time.Millisecond)
	w.start(of(30), "timeout: {after: PT1M}\ndo:\n"+
		"- a: {call: http, with: {method: get, endpoint: '@SINK/a'}}\n- n: {wait: PT3S}\n- b: {call: http, with: {method: get, endpoint: '@SINK/b'}}\n"+
		"- m: {wait: PT3S}\n- t: {try: [{l: {wait: PT1M, timeout: {after: PT2S}}}], catch: {do: [{c: {call: http, with: {method: get, endpoint: '@SINK/c'}}}]}}\n")
	w.work()
	w.work()
	w.reach(len(w.runs))
	time.Sleep(time.Second)
	w.redis.Jump(time.Hour)
	w.reach(2 * len(w.runs))
	time.Sleep(time.Second)
	w.redis.Jump(-time.Hour)
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, func(i store.Instance, entries []client.HistoryEntry) {
		took := entries[len(entries)-1].At.Sub(entries[0].At) // the first commit may come after the effects of the first step
		if took < 8*time.Second || took > 30*time.Minute {
			t.Errorf("%s took %s", i, took)
		}
	})
	if keys, _ := w.sink.counts(); keys != 3*len(w.runs) {
		t.Errorf("%d different effects, want %d", keys, 3*len(w.runs))
	}
	var jumps int64
	for p := range w.store.Layout().Partitions {
		st, err := w.store.Statistics(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		jumps += st.Jumps
	}
	if jumps == 0 {
		t.Fatal("no partition has noticed a jump")
	}
}
