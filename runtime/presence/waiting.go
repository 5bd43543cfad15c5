package presence

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// Waiting is a need for which runs wait.
type Waiting struct {
	Need    store.Need
	Runs    int           // at most maxCounted of each partition are counted
	Longest time.Duration // that one of them has waited
	Workers int           // that have what is needed, and are there
}

// maxCounted is how many runs of a need are counted in a partition, and how many needs.
const maxCounted = 1000

// AllWaiting returns the needs for which runs wait, and how many of some workers have what each needs.
func AllWaiting(ctx context.Context, s store.Store, workers []Worker) ([]Waiting, error) {
	all := map[store.Need]*Waiting{}
	for p := range s.Layout().Partitions {
		work, err := s.Poll(ctx, p, maxCounted, false)
		if err != nil {
			return nil, err
		}
		for _, n := range work.Needs {
			if all[n] == nil {
				all[n] = &Waiting{Need: n}
			}
			if err := all[n].count(ctx, s, p, work.At); err != nil {
				return nil, err
			}
		}
	}
	var found []Waiting
	for _, w := range all {
		if w.Runs == 0 {
			continue // they were taken meanwhile
		}
		for n := range workers {
			if workers[n].Has(w.Need) {
				w.Workers++
			}
		}
		found = append(found, *w)
	}
	slices.SortFunc(found, func(a, b Waiting) int { return cmp.Or(cmp.Compare(b.Longest, a.Longest), cmp.Compare(a.Need, b.Need)) })
	return found, nil
}

// count adds the runs of a partition.
func (w *Waiting) count(ctx context.Context, s store.Store, partition int, now time.Time) error {
	runs, err := s.Needing(ctx, store.Needing{Partition: partition, Need: w.Need, N: maxCounted})
	if err != nil || len(runs) == 0 {
		return err
	}
	w.Runs += len(runs)
	first, err := s.Load(ctx, runs[0])
	if store.RefusedAs(err) != "" {
		return nil // it is gone
	}
	if at := first.Lifecycle.NeededSince; err == nil && !at.IsZero() {
		w.Longest = max(w.Longest, now.Sub(at))
	}
	return err
}
