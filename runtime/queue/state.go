package queue

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/store"
)

// State is the content of a queue, its rules, and its workers.
type State struct {
	Name  string
	Rules Rules
	// Activities wait for outside workers, and Runs for workers of the engine, at most 1000 of each partition.
	Activities, Runs int64
	Oldest           time.Duration // how long the first of them has waited
	// Performing is the number of its effects in progress: the number of held permits if the queue has a limit, otherwise the number in the
	// last announcements of the engine's workers.
	Performing int
	Workers    []string  // of the engine, that take it; the longest there first
	Polled     Polled    // by outside workers
	At         time.Time // of the store
}

// Unpolled reports whether activities wait without recent polls.
func (s *State) Unpolled() bool {
	return s.Activities > 0 && s.At.Sub(s.Polled.Last()) > UnpolledAfter
}

// States returns all queues that have waiting work, are polled, served, limited or paused, by their names. In a context that grants some
// namespaces, work of other namespaces, polls for them and workers for their runs do not count, and Performing is 0, since it is not known
// by namespace.
func States(ctx context.Context, s store.Store, workers []presence.Worker) (all []State, err error) {
	rules, err := List(ctx, s)
	if err != nil {
		return nil, err
	}
	granted := definition.GrantedIn(ctx)
	polled, now, err := polledFor(ctx, s, granted)
	if err != nil {
		return nil, err
	}
	o := overview{all: map[string]*State{dsl.DefaultQueue: {}}, now: now}
	for name, r := range rules {
		o.of(name).Rules = r
	}
	for name, p := range polled {
		if len(p) > 0 {
			o.of(name).Polled = p
		}
	}
	if err := o.addWaiting(ctx, s); err != nil {
		return nil, err
	}
	o.addWorkers(presence.Seen(ctx, workers))
	if granted == nil {
		if err := o.addPerforming(ctx, s, workers); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.all)) {
		one := *o.all[name]
		one.Name, one.At = name, now
		all = append(all, one)
	}
	return all, nil
}

// overview are states as they are being made, by name.
type overview struct {
	all map[string]*State
	now time.Time
}

func (o *overview) of(name string) *State {
	if o.all[name] == nil {
		o.all[name] = &State{}
	}
	return o.all[name]
}

// addWaiting adds the waiting work of queues.
func (o *overview) addWaiting(ctx context.Context, s store.Store) error {
	granted := definition.GrantedIn(ctx)
	for p := range s.Layout().Partitions {
		lengths, err := s.QueueLengths(ctx, p)
		if err != nil {
			return err
		}
		for _, l := range lengths {
			if !granted.Has(l.Namespace) {
				continue
			}
			q := o.of(l.Name)
			q.Activities += l.Waiting
			q.Oldest = max(q.Oldest, o.now.Sub(l.Since))
		}
	}
	needs, err := presence.AllWaiting(ctx, s, nil)
	if err != nil {
		return err
	}
	for _, n := range needs {
		if n.Need.IsReserved() { // for the worker of a run, which takes all queues
			continue
		}
		name := dsl.DefaultQueue
		for _, part := range n.Need.Parts() {
			if queue, ok := interpreter.NeededQueue(part); ok {
				name = queue
			}
		}
		q := o.of(name)
		q.Runs += int64(n.Runs)
		q.Oldest = max(q.Oldest, n.Longest)
	}
	return nil
}

// addWorkers adds the workers of queues. A worker of all queues counts for the known queues.
func (o *overview) addWorkers(workers []presence.Worker) {
	for _, w := range workers {
		for _, name := range w.Queues {
			if name != presence.AllQueues {
				o.of(name)
			}
		}
	}
	for _, w := range workers {
		for name, q := range o.all {
			if w.Has(store.NewNeed(interpreter.NeedQueue(name))) && w.Concurrency > 0 {
				q.Workers = append(q.Workers, w.Name)
			}
		}
	}
}

// addPerforming adds the announced effects of workers, and the held permits of queues with a limit.
func (o *overview) addPerforming(ctx context.Context, s store.Store, workers []presence.Worker) error {
	for _, w := range workers {
		for name, n := range w.PerQueue {
			o.of(name).Performing += n
		}
	}
	for name, q := range o.all {
		if !q.Rules.Limited() {
			continue
		}
		holders, err := s.Holders(ctx, name)
		if err != nil {
			return err
		}
		q.Performing = len(holders)
	}
	return nil
}
