package presence

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Waiting is a need for which runs wait.
type Waiting struct {
	Need    store.Need
	Runs    int           // at most maxCounted of each partition are counted
	Longest time.Duration // that one of them has waited
	Workers int           // present workers that meet the need
}

// worksOn reports whether the worker works on a run alone: the run itself, or, by its ID, one of its ancestors.
func (w *Worker) worksOn(i store.Instance) bool {
	return slices.ContainsFunc(w.Runs, func(root store.Instance) bool {
		return i == root || strings.HasPrefix(i.ID, interpreter.ChildPrefix(root.ID))
	})
}

// Seen returns the part of some workers' announcements that a caller may see if ctx grants only some namespaces. It omits runs of other
// namespaces, workers that work only on such runs, and the number of effects, which counts the runs of all namespaces.
func Seen(ctx context.Context, workers []Worker) (seen []Worker) {
	granted := definition.GrantedIn(ctx)
	if granted == nil {
		return workers
	}
	for _, w := range workers {
		works := len(w.Runs) > 0
		w.Runs = slices.DeleteFunc(slices.Clone(w.Runs), func(i store.Instance) bool { return !granted.Has(i.Namespace) })
		if w.Load = (Load{}); works && len(w.Runs) == 0 {
			continue
		}
		seen = append(seen, w)
	}
	return seen
}

// maxCounted is how many runs of a need are counted in a partition, and how many needs. Runs that the context does not grant do not count.
const maxCounted = 1000

// AllWaiting returns the needs for which runs wait, and for each need how many of the workers meet it. Runs of namespaces that ctx does not
// grant are omitted.
func AllWaiting(ctx context.Context, s store.Store, workers []Worker) ([]Waiting, error) {
	all := map[store.Need]*Waiting{}
	for p := range s.Layout().Partitions {
		work, err := needsOf(ctx, s, p)
		if err != nil {
			return nil, err
		}
		for _, n := range work.Needs {
			if n.IsReserved() {
				n = store.AnyReserved
			}
			if all[n] == nil {
				all[n] = &Waiting{Need: n}
			}
			if err := all[n].count(ctx, s, place{p, work.At}, workers); err != nil {
				return nil, err
			}
		}
	}
	var found []Waiting
	for _, w := range all {
		if w.Runs == 0 {
			continue // they were taken concurrently
		}
		for n := range workers {
			if workers[n].Serves() && workers[n].Has(w.Need) {
				w.Workers++
			}
		}
		found = append(found, *w)
	}
	slices.SortFunc(found, func(a, b Waiting) int { return cmp.Or(cmp.Compare(b.Longest, a.Longest), cmp.Compare(a.Need, b.Need)) })
	return found, nil
}

// needsOf returns the needs of a partition: up to maxCounted needs, and all if ctx does not grant all namespaces.
func needsOf(ctx context.Context, s store.Store, partition int) (store.Work, error) {
	for n := maxCounted; ; n *= 4 {
		work, err := s.Poll(ctx, partition, n, false)
		if err != nil || len(work.Needs) < n || definition.GrantedIn(ctx) == nil {
			return work, err
		}
	}
}

// place is a partition, with its time.
type place struct {
	partition int
	now       time.Time
}

// count adds the runs of a partition; of reserved runs, only those without a present worker.
func (w *Waiting) count(ctx context.Context, s store.Store, at place, workers []Worker) error {
	granted := definition.GrantedIn(ctx)
	counts := func(i store.Needy) bool {
		worked := w.Need == store.AnyReserved && slices.ContainsFunc(workers, func(w Worker) bool { return w.worksOn(i.Instance) })
		return granted.Has(i.Namespace) && !worked
	}
	for n := maxCounted; ; n *= 4 {
		runs, err := s.Needing(ctx, store.Needing{Partition: at.partition, Need: w.Need, N: n})
		if err != nil {
			return err
		}
		read := len(runs)
		runs = slices.DeleteFunc(runs, func(i store.Needy) bool { return !counts(i) })
		if len(runs) < maxCounted && read >= n {
			continue // runs that do not count precede others
		}
		runs = runs[:min(len(runs), maxCounted)]
		w.Runs += len(runs)
		for _, i := range runs {
			w.Longest = max(w.Longest, at.now.Sub(i.Since))
		}
		return nil
	}
}
