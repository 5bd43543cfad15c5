package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/swrun/swrun/runtime/store"
)

// removeBatch is how many runs one transition removes.
const removeBatch = 100

// callsAtOnce is the maximum number of concurrent calls. A store needs less work for several calls that arrive together.
const callsAtOnce = 128

// ForEach calls f for each of all, several at a time, and returns the errors at the same positions.
func ForEach[T any](all []T, f func(T) error) []error {
	failed := make([]error, len(all))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(callsAtOnce, len(all)) {
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(all); n = int(next.Add(1)) - 1 {
				failed[n] = f(all[n])
			}
		})
	}
	group.Wait()
	return failed
}

// refused returns a Conflict of a run with its cause.
func refused(i store.Instance, format string, args ...any) error {
	return &store.Refusal{Code: store.Conflict, Detail: "run " + i.String(), Reason: fmt.Sprintf(format, args...)}
}

// Delete removes a run that ended; any other run is refused as a Conflict.
func (c *Client) Delete(ctx context.Context, i store.Instance) error {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return err
	}
	if !l.Lifecycle.Status.Final() {
		return refused(i, "is %s: cancel it first", l.Lifecycle.Status)
	}
	_, err = c.store.Remove(ctx, store.Remove{Partition: i.Partition(c.store.Layout().Partitions), Instances: []store.Instance{i}})
	return err
}

// DeleteAll removes runs that ended, many in one transition, and returns the errors at the same positions. A missing run is not an error:
// another caller removed it.
func (c *Client) DeleteAll(ctx context.Context, all []store.Instance) []error {
	failed := make([]error, len(all))
	byPartition := map[int][]int{} // positions in all
	for n, i := range all {
		p := i.Partition(c.store.Layout().Partitions)
		byPartition[p] = append(byPartition[p], n)
	}
	var batches [][]int
	for _, positions := range byPartition {
		batches = slices.AppendSeq(batches, slices.Chunk(positions, removeBatch))
	}
	ForEach(batches, func(positions []int) error {
		c.deleteBatch(ctx, all, positions, failed)
		return nil
	})
	return failed
}

// deleteBatch removes the runs at some positions in all, which are of one partition.
func (c *Client) deleteBatch(ctx context.Context, all []store.Instance, positions []int, failed []error) {
	request := store.Remove{Partition: all[positions[0]].Partition(c.store.Layout().Partitions)}
	for _, n := range positions {
		request.Instances = append(request.Instances, all[n])
	}
	removed, err := c.store.Remove(ctx, request)
	if err == nil && removed == len(positions) {
		return
	}
	for _, n := range positions { // the store does not report which runs it kept
		if failed[n] = err; err == nil {
			if failed[n] = c.Delete(ctx, all[n]); store.RefusedAs(failed[n]) == store.NoSuch {
				failed[n] = nil
			}
		}
	}
}
