package client

import (
	"context"

	"github.com/swrun/swrun/runtime/store"
)

// Repair is what a comparison of all runs with the indexes of the store has found.
type Repair struct {
	Compared int      // runs; not counted if nothing was to be repaired
	Wrong    int      // entries of indexes
	Repaired []string // what was wrong, for people
}

// repairPage is how many runs are compared at a time.
const repairPage = 500

// Repair compares every run with the indexes of the store, and repairs what differs, as workers do all the time, a few runs at a time.
// Doing it again changes nothing.
func (c *Client) Repair(ctx context.Context) (r Repair, err error) {
	for p := range c.store.Layout().Partitions {
		for cursor, again := "", true; again; again = cursor != "" {
			done, err := c.store.Scrub(ctx, store.Scrub{Partition: p, Cursor: cursor, N: repairPage})
			if err != nil {
				return r, err
			}
			cursor = done.Cursor
			r.Compared += done.Compared
			r.Repaired = append(r.Repaired, done.Repaired...)
		}
	}
	r.Wrong = len(r.Repaired)
	return r, nil
}

// CheckRepair counts what Repair would have to repair, and changes nothing. Stores that change a record and its indexes in one transaction
// of their own, as files do, have nothing to count.
func (c *Client) CheckRepair(ctx context.Context) (r Repair, err error) {
	for p := range c.store.Layout().Partitions {
		for compared, again := 0, true; again; again = compared != 0 {
			found, err := c.store.Drift(ctx, store.Drift{Partition: p, Compared: compared, N: repairPage})
			if err != nil {
				return r, err
			}
			compared = found.Compared
			r.Wrong += found.Wrong
		}
	}
	return r, nil
}
