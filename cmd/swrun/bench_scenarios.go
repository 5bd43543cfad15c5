package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// This file has the scenarios of bench.

// benchSteps is how many steps a run of throughput has.
const benchSteps = 10

// benchEndpoint is what the documents of bench call.
const benchEndpoint = "http://bench.invalid/"

// steps returns a list of n durable steps.
func steps(n int) string {
	var b strings.Builder
	b.WriteString("do:\n")
	for i := range n {
		fmt.Fprintf(&b, "- s%d: {call: http, with: {method: get, endpoint: '"+benchEndpoint+"'}}\n", i)
	}
	return b.String()
}

func numbered(i int) any { return map[string]any{"n": i} }

// benchRounds is how often throughput is measured, which takes half a second; the median counts.
const benchRounds = 5

func (b *bench) throughput() (*measured, error) {
	before, err := b.raw()
	if err != nil {
		return nil, err
	}
	m := &measured{Instances: b.of(2000)}
	w := worker.Config{Compile: b.compile(effortless), Concurrency: b.flags.concurrency}
	if _, err := b.runSteps(b.of(200), w); err != nil { // connections and memory are there then
		return nil, err
	}
	var rounds []time.Duration
	for range benchRounds {
		if err := b.rested(); err != nil {
			return nil, err
		}
		c, err := b.runSteps(m.Instances, w)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, c.elapsed)
	}
	after, err := b.raw()
	if err != nil {
		return nil, err
	}
	m.RawEvalPerS = (before + after) / 2
	slices.Sort(rounds)
	m.took(rounds[benchRounds/2], m.Instances*benchSteps)
	m.WorkerRSS = rss()
	var took []time.Duration
	m.Lost, m.Duplicates, err = b.account(gaps(&took))
	m.latencies(took)
	return m, err
}

// gaps adds to took how long after the entry before it each entry was stored.
func gaps(took *[]time.Duration) func(client.HistoryEntry) {
	var before time.Time
	return func(e client.HistoryEntry) { // the entries of a run come in order, and together
		if e.Events[0].Seq > 1 {
			*took = append(*took, e.CommittedAt.Sub(before))
		}
		before = e.CommittedAt
	}
}

// cost is what something took of time, and of this process's processors.
type cost struct{ elapsed, cpu time.Duration }

// runSteps starts n runs of durable steps, and returns what a worker then takes for them.
func (b *bench) runSteps(n int, c worker.Config) (cost, error) {
	if _, err := b.startSteps(n); err != nil {
		return cost{}, err
	}
	ended := newCountdown(n)
	c.Observe = ended.observe
	began, before := time.Now(), cpuOf(os.Getpid())
	stop := b.work(c)
	err := ended.wait(b.ctx, 5*time.Minute)
	took := cost{time.Since(began), cpuOf(os.Getpid()) - before}
	stop()
	return took, err
}

// startSteps starts n runs of durable steps, and returns how many runs had ended before.
func (b *bench) startSteps(n int) (before int64, err error) {
	r, err := b.deploy("steps", steps(benchSteps))
	if err != nil {
		return 0, err
	}
	if before, err = b.count(); err != nil {
		return 0, err
	}
	return before, b.start(r, n, numbered)
}

// took fills in how long so many steps took.
func (m *measured) took(d time.Duration, steps int) {
	m.Steps, m.Seconds = steps, d.Seconds()
	m.StepsPerS = float64(steps) / d.Seconds()
	if m.RawEvalPerS > 0 {
		m.RatioToRaw = m.StepsPerS / m.RawEvalPerS
	}
}

func (b *bench) timers() (*measured, error) {
	spread, err := b.sleepUntil(b.of(10_000), min(10*time.Second, max(time.Second, time.Duration(b.flags.size*float64(10*time.Second)))))
	if err != nil {
		return nil, err
	}
	if err := b.clean(); err != nil {
		return nil, err
	}
	burst, err := b.sleepUntil(b.of(100_000), 0)
	if err != nil {
		return nil, err
	}
	spread.Lost += burst.Lost
	spread.Duplicates += burst.Duplicates
	spread.Early += burst.Early
	spread.Instances += burst.Instances
	spread.Steps += burst.Steps
	spread.Recovery = burst.Max / 1000 // until the last of those that were due at once was done
	return spread, nil
}

// sleepUntil runs n instances that sleep to moments spread over a time, and tells how late they wake.
func (b *bench) sleepUntil(n int, over time.Duration) (*measured, error) {
	m := &measured{Instances: n}
	r, err := b.deploy("sleep", "do:\n- nap: {wait: '${ .for }'}\n")
	if err != nil {
		return nil, err
	}
	before, err := b.count()
	if err != nil {
		return nil, err
	}
	// All of them are asleep before the first wakes.
	asleep := 2*time.Second + time.Duration(n)*150*time.Microsecond
	wake := time.Now().Add(asleep)
	stop := b.work(worker.Config{Compile: b.compile(effortless), ParkAfter: time.Millisecond})
	err = b.start(r, n, func(i int) any {
		at := wake
		if n > 1 {
			at = at.Add(over * time.Duration(i) / time.Duration(n-1))
		}
		return map[string]any{"for": fmt.Sprintf("PT%.3fS", time.Until(at).Seconds())}
	})
	if err == nil {
		began := time.Now()
		err = b.closed(before, n, time.Until(wake)+over+5*time.Minute)
		m.took(time.Since(began), n)
	}
	m.WorkerRSS = rss()
	stop()
	if err != nil {
		return nil, err
	}
	var late []time.Duration
	due := map[string]time.Time{}
	m.Lost, m.Duplicates, err = b.account(func(e client.HistoryEntry) {
		late = append(late, lateness(e, due)...)
	})
	m.latencies(late)
	return m, err
}

// lateness returns by how much the waits that an entry ends were late. The entries of a run come in order.
func lateness(e client.HistoryEntry, due map[string]time.Time) (late []time.Duration) {
	for _, r := range e.Events {
		switch r.Type {
		case interpreter.TaskWaiting:
			due[e.Token.Nonce+string(r.Path)] = r.Until
		case interpreter.TaskCompleted, interpreter.TaskFaulted:
			for key, at := range due {
				late = append(late, e.CommittedAt.Sub(at))
				delete(due, key)
			}
		}
	}
	return late
}

func (b *bench) timeouts() (*measured, error) {
	m := &measured{Instances: b.of(2000)}
	r, err := b.deploy("timeout", "do:\n- slow: {call: http, with: {method: get, endpoint: 'http://bench.invalid/'}, timeout: {after: PT2S}}\n")
	if err != nil {
		return nil, err
	}
	before, err := b.count()
	if err != nil {
		return nil, err
	}
	stop := b.work(worker.Config{Compile: b.compile(block), Concurrency: 5000})
	began := time.Now()
	for i := range m.Instances {
		time.Sleep(time.Until(began.Add(time.Duration(i) * 2 * time.Millisecond)))
		instance, err := b.client.Start(b.ctx, r, nil, client.StartOptions{})
		if err != nil {
			stop()
			return nil, err
		}
		b.runs = append(b.runs, instance)
	}
	err = b.closed(before, m.Instances, 5*time.Minute)
	m.took(time.Since(began), m.Instances)
	m.WorkerRSS = rss()
	stop()
	if err != nil {
		return nil, err
	}
	var late []time.Duration
	m.Lost, m.Duplicates, err = b.account(func(e client.HistoryEntry) {
		for _, record := range e.Events {
			if record.Type != interpreter.TaskFaulted || record.Error == nil {
				continue
			}
			text, _ := record.Error.Extensions["deadline"].(string)
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
				late = append(late, e.CommittedAt.Sub(at))
			}
		}
	})
	m.latencies(late)
	return m, err
}

func (b *bench) sleepers() (*measured, error) {
	m := &measured{Instances: b.of(100_000)}
	r, err := b.deploy("sleeper", "do:\n- nap: {wait: P7D}\n")
	if err != nil {
		return nil, err
	}
	pid, stop, err := b.apart()
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := b.start(r, b.of(5000), numbered); err != nil { // What is needed once is there then
		return nil, err
	}
	if err := b.asleep(); err != nil {
		return nil, err
	}
	memory, err := b.memory()
	if err != nil {
		return nil, err
	}
	before, began := residentOf(pid), time.Now()
	if err := b.start(r, m.Instances, numbered); err != nil {
		return nil, err
	}
	if err := b.asleep(); err != nil {
		return nil, err
	}
	m.took(time.Since(began), m.Instances)
	m.Started = m.StepsPerS
	after, err := b.memory()
	m.RedisBytes = float64(after-memory) / float64(m.Instances)
	m.WorkerRSS = residentOf(pid) - before
	if err != nil {
		return nil, err
	}
	began = time.Now()
	all := float64(len(b.runs))
	if err := b.endAll(); err != nil {
		return nil, err
	}
	m.Ended = all / time.Since(began).Seconds()
	began = time.Now()
	err = b.clean()
	m.Removed = all / time.Since(began).Seconds()
	return m, err
}

// apart runs a worker in a process of its own, if the store allows it, and returns its process.
func (b *bench) apart() (pid int, stop func(), err error) {
	if b.store.Local() {
		return os.Getpid(), b.work(worker.Config{Compile: b.compile(effortless)}), nil
	}
	worker, err := b.spawn()
	if err != nil {
		return 0, nil, err
	}
	return worker.Process.Pid, func() {
		worker.Process.Kill() // its work is done
		_ = worker.Wait()
	}, nil
}

// asleep waits until no run is ready or in a worker's hands.
func (b *bench) asleep() error {
	return b.progress(len(b.runs), time.Minute, func() (busy int64, err error) {
		for p := range b.store.Layout().Partitions {
			st, err := b.store.Statistics(b.ctx, p)
			if err != nil {
				return 0, err
			}
			upcoming, err := b.store.Upcoming(b.ctx, p, time.Now().Add(10*time.Minute))
			if err != nil {
				return 0, err
			}
			busy += st.Ready + int64(len(upcoming))
		}
		return busy, nil
	})
}

// endAll cancels the runs that sleep, so that they can be removed.
func (b *bench) endAll() error {
	before, err := b.count()
	if err != nil {
		return err
	}
	if err := firstError(client.ForEach(b.runs, func(i store.Instance) error {
		return b.client.Terminate(b.ctx, i, "the measurement is over")
	})...); err != nil {
		return err
	}
	return b.closed(before, len(b.runs), 5*time.Minute)
}

func (b *bench) long() (*measured, error) {
	n := b.of(10_000)
	m := &measured{Instances: 1}
	r, err := b.deploy("long", "do:\n- all: {for: {in: '${ [range(.n)] }'}, do: [{s: {call: http, with: {method: get, endpoint: 'http://bench.invalid/'}}}]}\n")
	if err != nil {
		return nil, err
	}
	before, err := b.count()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	stop := b.work(worker.Config{Compile: b.compile(effortless)})
	if err = b.start(r, 1, func(int) any { return map[string]any{"n": n} }); err == nil {
		err = b.closed(before, 1, 10*time.Minute)
	}
	m.took(time.Since(began), n)
	m.WorkerRSS = rss()
	stop()
	if err != nil {
		return nil, err
	}
	var ends []time.Time
	var took []time.Duration
	gap := gaps(&took)
	m.Lost, m.Duplicates, err = b.account(func(e client.HistoryEntry) {
		ends = append(ends, e.CommittedAt)
		gap(e)
	})
	m.latencies(took)
	if tenth := len(ends) / 10; tenth > 0 {
		first, last := ends[tenth].Sub(ends[0]), ends[len(ends)-1].Sub(ends[len(ends)-1-tenth])
		m.GrowthPerStep = float64(last) / float64(max(first, time.Millisecond))
	}
	return m, err
}

// benchWorker is the environment variable that makes this program the worker of crash.
const benchWorker = "SWRUN_BENCH_WORKER"

func (b *bench) crash() (*measured, error) {
	if b.store.Local() {
		return nil, usagef("name a Redis with --store", "an embedded store has one process, which cannot be killed and measure")
	}
	m := &measured{Instances: b.of(2000)}
	before, err := b.startSteps(m.Instances)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	first, err := b.spawn()
	if err != nil {
		return nil, err
	}
	if err := b.closed(before, m.Instances/2, time.Minute); err != nil {
		return nil, err
	}
	first.Process.Kill() // it is there: it has just worked
	_ = first.Wait()     // it was killed
	killed := time.Now()
	time.Sleep(time.Second)
	second, err := b.spawn()
	if err != nil {
		return nil, err
	}
	err = b.closed(before, m.Instances, 5*time.Minute)
	m.Recovery = time.Since(killed).Seconds() - 1
	m.took(time.Since(began), m.Instances*benchSteps)
	second.Process.Kill() // its work is done
	_ = second.Wait()
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	m.Lost, m.Duplicates, err = b.account(gaps(&took))
	m.latencies(took)
	return m, err
}

// spawn starts this program as a worker of bench.
func (b *bench) spawn() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, "bench", "worker", "--concurrency", fmt.Sprint(b.flags.concurrency))
	c.Env = append(os.Environ(), benchWorker+"=1", "SWRUN_STORE="+b.store.URL()) // the URL may hold a password
	c.Stderr = b.err
	return c, c.Start()
}

// beWorker is what a spawned program does until it is killed.
func (b *bench) beWorker() error {
	stop := b.work(worker.Config{Compile: b.compile(effortless), Concurrency: b.flags.concurrency})
	<-b.ctx.Done()
	stop()
	return nil
}
