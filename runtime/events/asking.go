package events

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// asking asks the store for listeners. While it answers, and for the same time again, new callers wait, and the next query combines their
// questions: looking up the types and expressions of a partition costs more than looking for one key, and is done once for all.
type asking struct {
	store      store.Reader
	partitions []int         // all of them
	turn       chan struct{} // held by the asking caller

	mu      sync.Mutex
	waiting []*question
}

// question is the question of one event.
type question struct {
	types   []store.ListenType
	filters []store.ListenFilter

	answered chan struct{} // closed when the rest is there
	answer   store.Listeners
	err      error
}

// maxTogether is how many events ask together.
const maxTogether = 32

// maxPause is the maximum time that callers wait after an answer.
const maxPause = 5 * time.Millisecond

func newAsking(s store.Store) *asking {
	a := &asking{store: s, turn: make(chan struct{}, 1)}
	for p := range s.Layout().Partitions {
		a.partitions = append(a.partitions, p)
	}
	return a
}

// listeners returns who has some filters of some types, and which other filters of these types there are.
func (a *asking) listeners(ctx context.Context, types []store.ListenType, filters []store.ListenFilter) (store.Listeners, error) {
	q := &question{types: types, filters: filters, answered: make(chan struct{})}
	a.mu.Lock()
	a.waiting = append(a.waiting, q)
	a.mu.Unlock()
	for {
		select {
		case <-q.answered:
			return q.answer, q.err
		case <-ctx.Done():
			a.mu.Lock()
			a.waiting = slices.DeleteFunc(a.waiting, func(other *question) bool { return other == q })
			a.mu.Unlock()
			return store.Listeners{}, context.Cause(ctx)
		case a.turn <- struct{}{}:
			began := time.Now()
			a.askNext(ctx)
			time.AfterFunc(min(time.Since(began), maxPause), func() { <-a.turn })
		}
	}
}

// askNext asks the questions of the waiting callers. If ctx ends in between, they continue to wait.
func (a *asking) askNext(ctx context.Context) {
	a.mu.Lock()
	some := slices.Clone(a.waiting[:min(len(a.waiting), maxTogether)])
	a.waiting = slices.Delete(a.waiting, 0, len(some))
	a.mu.Unlock()
	if len(some) == 0 {
		return
	}
	err := a.ask(ctx, some)
	if err != nil && ctx.Err() != nil {
		a.mu.Lock()
		a.waiting = append(some, a.waiting...)
		a.mu.Unlock()
		return
	}
	for _, q := range some {
		q.err = err
		close(q.answered)
	}
}

// ask asks several questions as one, and gives each its answer.
func (a *asking) ask(ctx context.Context, some []*question) error {
	all := store.Listening{Partitions: a.partitions, N: pageOfListeners}
	number := map[store.ListenFilter]int{}
	known := map[store.ListenType]bool{}
	for _, q := range some {
		for _, kind := range q.types {
			if !known[kind] {
				known[kind], all.Types = true, append(all.Types, kind)
			}
		}
		for _, f := range q.filters {
			if _, is := number[f]; !is {
				number[f], all.Filters = len(all.Filters), append(all.Filters, f)
			}
		}
	}
	answer, err := a.store.Listeners(ctx, all)
	if err != nil {
		return err
	}
	of := make([][]store.ListeningRuns, len(all.Filters))
	for _, runs := range answer.Runs {
		of[runs.Filter] = append(of[runs.Filter], runs)
	}
	for _, q := range some {
		q.take(answer.From, func(f store.ListenFilter) []store.ListeningRuns { return of[number[f]] })
	}
	return nil
}

// take takes its part of the answer to all questions.
func (q *question) take(from []interpreter.EventFilter, of func(store.ListenFilter) []store.ListeningRuns) {
	for _, f := range from {
		if slices.ContainsFunc(q.types, func(t store.ListenType) bool { return t.Has(f) }) {
			q.answer.From = append(q.answer.From, f)
		}
	}
	for n, f := range q.filters {
		for _, runs := range of(f) {
			runs.Filter = n
			q.answer.Runs = append(q.answer.Runs, runs)
		}
	}
}
