package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
	"github.com/swrun/swrun/tasks"
)

// This file is what the scenarios of bench work with.

// compile makes the documents of bench ready to run: a call is a function of this process, which takes no time, or as
// long as it is let.
func (b *bench) compile(perform interpreter.Performer) definition.Compile {
	return func(d definition.Definition) (*interpreter.Program, error) {
		w, found := dsl.Parse("bench", []byte(d.Document))
		if err := found.Err(); err != nil {
			return nil, err
		}
		kinds := tasks.All(tasks.Config{})
		for i := range kinds {
			if kinds[i].Kind == dsl.KindCallHTTP {
				kinds[i].Perform = perform
			}
		}
		p, found := interpreter.Compile(w, interpreter.Config{Kinds: kinds})
		return p, found.Err()
	}
}

// effortless is what a durable step of bench does.
func effortless(context.Context, interpreter.Request) (any, error) {
	return map[string]any{"ok": true}, nil
}

// block is a step that lasts until it is cancelled.
func block(ctx context.Context, _ interpreter.Request) (any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// deploy deploys a document of bench.
func (b *bench) deploy(name, body string) (definition.Reference, error) {
	document := fmt.Sprintf("document: {dsl: 1.0.3, namespace: bench, name: %s, version: 1.0.0}\n%s", name, body)
	reference, err := b.client.Deploy(b.ctx, definition.Definition{Document: document})
	if store.RefusedAs(err) == store.Conflict {
		err = errors.New("the store holds what another version of bench has left: name another deployment, --store redis://...?deployment=NAME")
	}
	return reference, err
}

// start starts n runs at once, from several sides. input gives each its input.
func (b *bench) start(r definition.Reference, n int, input func(int) any) error {
	runs := make([]store.Instance, n)
	failed := make(chan error, 64)
	var group sync.WaitGroup
	next := make(chan int)
	for range 64 {
		group.Go(func() {
			for i := range next {
				instance, err := b.client.Start(b.ctx, r, input(i), client.StartOptions{})
				if err != nil {
					select {
					case failed <- err:
					default: // one is enough
					}
				}
				runs[i] = instance
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	b.runs = append(b.runs, runs...)
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// work runs a worker until the function that it returns is called.
func (b *bench) work(c worker.Config) (stop func()) {
	c.Store = b.store
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		worker.New(c).Run(ctx)
	}()
	return func() { cancel(); <-done }
}

// countdown counts the runs that a worker ends, so that the store need not be asked while it is measured.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func newCountdown(n int) *countdown {
	c := &countdown{done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) observe(_ store.Instance, records []interpreter.HistoryEvent) {
	switch records[len(records)-1].Type {
	case interpreter.WorkflowCompleted, interpreter.WorkflowFaulted, interpreter.WorkflowCancelled:
		if c.left.Add(-1) == 0 {
			close(c.done)
		}
	}
}

func (c *countdown) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("%s left after %s: does another bench work there?", terminal.Counted(c.left.Load(), "unfinished run"), limit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// closed waits until so many more runs have ended than before, as long as some end within limit.
func (b *bench) closed(before int64, n int, limit time.Duration) error {
	return b.progress(n, limit, func() (left int64, err error) {
		count, err := b.count()
		return before + int64(n) - count, err
	})
}

// progress waits until none of n runs are left, as long as their number changes within limit. It asks less often if they
// are many: asking is work for the store.
func (b *bench) progress(n int, limit time.Duration, left func() (int64, error)) error {
	pause := min(max(20*time.Millisecond, time.Duration(n)*10*time.Microsecond), time.Second)
	last, changed := int64(-1), time.Now()
	for {
		now, err := left()
		if err != nil || now <= 0 {
			return err
		}
		if now != last {
			last, changed = now, time.Now()
		}
		if time.Since(changed) > limit {
			return fmt.Errorf("of %s %d left, and none is done within %s", terminal.Counted(n, "run"), now, limit)
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
		time.Sleep(pause)
	}
}

func (b *bench) count() (closed int64, err error) {
	for p := range b.store.Layout().Partitions {
		st, err := b.store.Statistics(b.ctx, p)
		if err != nil {
			return 0, err
		}
		closed += st.Closed
	}
	return closed, nil
}

// account looks at every run: it returns how many have not completed, and how many effects were committed twice, and
// calls late with each entry.
func (b *bench) account(late func(client.HistoryEntry)) (lost, duplicates int, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	next := make(chan store.Instance)
	for range 16 {
		group.Go(func() {
			for i := range next {
				l, twice, entries, bad := b.look(i)
				mu.Lock()
				if bad != nil && err == nil {
					err = bad
				}
				lost, duplicates = lost+l, duplicates+twice
				for _, e := range entries {
					late(e)
				}
				mu.Unlock()
			}
		})
	}
	for _, i := range b.runs {
		next <- i
	}
	close(next)
	group.Wait()
	return lost, duplicates, err
}

func (b *bench) look(i store.Instance) (lost, duplicates int, entries []client.HistoryEntry, err error) {
	l, err := b.store.Load(b.ctx, i)
	if store.RefusedAs(err) == store.NoSuch {
		return 1, 0, nil, nil
	}
	if err != nil {
		return 0, 0, nil, err
	}
	if !l.Lifecycle.Status.Final() {
		lost = 1
	}
	seen := map[interpreter.Path]bool{}
	_, err = b.client.History(b.ctx, i, 0, func(e client.HistoryEntry) error {
		entries = append(entries, e)
		for _, r := range e.Events {
			if r.Type != interpreter.EffectFinished {
				continue
			}
			if seen[r.Path] {
				duplicates++
			}
			seen[r.Path] = true
		}
		return nil
	})
	return lost, duplicates, entries, err
}

// abandoned is how long an interrupted bench takes to remove its runs, at most.
const abandoned = time.Minute

// abandon ends and removes what an interrupted bench has started, so that it is not in the way of the next one.
func (b *bench) abandon() {
	left := slices.DeleteFunc(b.runs, func(i store.Instance) bool { return i.ID == "" })
	if len(left) == 0 {
		return
	}
	fmt.Fprintf(b.err, "interrupted: %s of bench are removed; another interrupt leaves them\n", terminal.Counted(len(left), "run"))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), abandoned)
	defer cancel()
	b.ctx = ctx
	client.ForEach(left, func(i store.Instance) error { return b.client.Terminate(ctx, i, "bench was interrupted") })
	stop := b.work(worker.Config{Compile: b.compile(effortless), Concurrency: -1})
	defer stop()
	for len(left) > 0 && ctx.Err() == nil {
		refused := b.client.DeleteAll(ctx, left)
		var again []store.Instance
		for n, i := range left {
			if store.RefusedAs(refused[n]) == store.Conflict {
				again = append(again, i) // it is still ending
			}
		}
		left = again
	}
}

// clean removes the runs of bench.
func (b *bench) clean() error {
	err := firstError(b.client.DeleteAll(b.ctx, b.runs)...)
	b.runs = nil
	return err
}

// rss returns the resident memory of this process, or 0 where that is not told.
func rss() int64 { return residentOf(os.Getpid()) }

func residentOf(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64) // 0 if it is not told
			return kb << 10
		}
	}
	return 0
}

// raw measures how many bare scripts of six commands with 1 KB the store takes a second; 0 where there are none.
func (b *bench) raw() (float64, error) {
	s, ok := b.store.Store.Store.(*redisstore.Store)
	if !ok {
		return 0, nil
	}
	if err := b.rested(); err != nil {
		return 0, err
	}
	return s.RawRate(b.ctx, bytes.Repeat([]byte("x"), 1000), time.Duration(float64(time.Second)*min(1, max(b.flags.size, 0.1))))
}

// rested waits, ten seconds at most, while the store's server writes all that it holds anew: that is left from what was
// measured before.
func (b *bench) rested() error {
	for range 100 {
		if facts, err := b.facts(); err != nil || !facts.Saving {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// memory returns how many bytes the store's servers use; 0 where that is not told.
func (b *bench) memory() (int64, error) {
	facts, err := b.facts()
	return facts.Memory, err
}

// facts returns what the store's server tells of itself; nothing for other stores. One that is rewriting its file may take
// seconds to answer, so that it is asked several times.
func (b *bench) facts() (facts redisstore.Facts, err error) {
	s, ok := b.store.Store.Store.(*redisstore.Store)
	for tries := 0; ok && tries < 10 && b.ctx.Err() == nil; tries++ {
		if facts, err = s.Facts(b.ctx); err == nil {
			break
		}
	}
	return facts, err
}
