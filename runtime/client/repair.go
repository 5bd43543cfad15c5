package client

import (
	"context"

	"github.com/swrun/swrun/runtime/store"
)

// Repair is what a comparison of all runs with the indexes of the store has found.
type Repair struct {
	Compared int      // runs
	Wrong    int      // entries of indexes, and activities that are lost
	Repaired []string // what was wrong, for people
}

// repairPage is how many runs are compared at a time.
const repairPage = 500

// Repair compares every run with the indexes of the store, and repairs what differs, as workers do all the time, a few runs at a time.
// Doing it again changes nothing.
func (c *Client) Repair(ctx context.Context) (Repair, error) { return c.scrub(ctx, store.Scrub{}) }

// CheckRepair finds what Repair would repair, and changes nothing.
func (c *Client) CheckRepair(ctx context.Context) (Repair, error) {
	return c.scrub(ctx, store.Scrub{Check: true})
}

func (c *Client) scrub(ctx context.Context, request store.Scrub) (r Repair, err error) {
	request.N = repairPage
	for p := range c.store.Layout().Partitions {
		request.Partition, request.Cursor = p, ""
		for again := true; again; again = request.Cursor != "" {
			done, err := c.store.Scrub(ctx, request)
			if err != nil {
				return r, err
			}
			request.Cursor = done.Cursor
			r.Compared += done.Compared
			r.Repaired = append(r.Repaired, done.Repaired...)
		}
	}
	r.Wrong = len(r.Repaired)
	return r, nil
}
