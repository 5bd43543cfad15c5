package client

import (
	"context"
	"math"

	"github.com/swrun/swrun/runtime/store"
)

// Repair is the result of a comparison of all runs with the indexes of the store.
type Repair struct {
	Compared int      // runs
	Wrong    int      // entries of indexes, and activities that are lost
	Repaired []string // descriptions of the repairs, for people
	// Unreadable are the runs that cannot be read, for example because only some parts of them are stored. They remain as they are.
	Unreadable []store.Unreadable
}

// repairPage is how many runs are compared at a time.
const repairPage = 500

// RepairScope specifies the compared runs, and whether they are repaired. The zero scope is all runs, with repair.
type RepairScope struct {
	Run       store.Instance // only this one, unless it is zero
	Namespace string         // only the runs of this namespace, unless it is empty
	Check     bool           // only report the repairs, and change nothing
}

// Repair compares runs with the indexes of the store and repairs differences. Workers do the same continuously, a few runs at a time.
// Repeating it changes nothing. A missing run is refused as NoSuch.
func (c *Client) Repair(ctx context.Context, of RepairScope) (Repair, error) {
	request := store.Scrub{Check: of.Check, N: repairPage}
	if of.Namespace != "" {
		request.Only = func(i store.Instance) bool { return i.Namespace == of.Namespace }
	}
	partitions := c.store.Layout().Partitions
	if of.Run == (store.Instance{}) {
		return c.scrub(ctx, request, 0, partitions)
	}
	if err := of.Run.CheckSize(); err != nil {
		return Repair{}, err
	}
	if _, err := c.store.Load(ctx, of.Run); store.RefusedAs(err) == store.NoSuch {
		return Repair{}, err
	}
	request.Only = func(i store.Instance) bool { return i == of.Run }
	p := of.Run.Partition(partitions)
	return c.scrub(ctx, request, p, p+1)
}

// scrub compares the runs of the partitions from one on and before another.
func (c *Client) scrub(ctx context.Context, request store.Scrub, from, before int) (r Repair, err error) {
	for p := from; p < before; p++ {
		request.Partition, request.Cursor = p, ""
		for again := true; again; again = request.Cursor != "" {
			done, err := c.store.Scrub(ctx, request)
			if err != nil {
				return r, err
			}
			request.Cursor = done.Cursor
			r.Compared += done.Compared
			r.Repaired = append(r.Repaired, done.Repaired...)
			r.Unreadable = append(r.Unreadable, done.Unreadable...)
		}
		if request.Only != nil {
			continue // it is not known whose damaged messages are
		}
		dropped, err := c.dropUndeliverable(ctx, p, request.Check)
		if err != nil {
			return r, err
		}
		relisted, err := Unlisted(ctx, c.store, p, math.MaxInt, request.Check)
		if err != nil {
			return r, err
		}
		r.Repaired = append(append(r.Repaired, dropped...), relisted...)
	}
	r.Wrong = len(r.Repaired)
	return r, nil
}

// Unlisted finds entries of the registry that are missing in the list of their kind, on some pages of a partition. It adds them, unless they
// are only to be checked, and describes each for people.
func Unlisted(ctx context.Context, s store.Store, partition, pages int, check bool) (all []string, err error) {
	request := store.Scrub{Partition: partition, N: repairPage, Registry: true, Check: check}
	for n := 0; n < pages && (n == 0 || request.Cursor != ""); n++ {
		done, err := s.Scrub(ctx, request)
		if err != nil {
			return all, err
		}
		request.Cursor = done.Cursor
		all = append(all, done.Repaired...)
	}
	return all, nil
}
