package client

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// outboxPage is how many entries of an outbox are read at a time.
const outboxPage = 100

// Undeliverable returns the ids of the entries in the outbox of a partition that cannot be read, and why. It reads about most entries.
func Undeliverable(ctx context.Context, s store.Reader, partition, most int) (found map[string]error, err error) {
	found = map[string]error{}
	for read, after := 0, ""; read < most; {
		entries, err := s.Outbox(ctx, partition, after, outboxPage)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if _, err := execution.ParseOutgoing(e.Data); err != nil {
				found[e.ID] = store.RefuseUnreadable(fmt.Sprintf("entry %s of the outbox of partition %d", e.ID, partition), err, time.Time{})
			}
			after = e.ID
		}
		if read += len(entries); len(entries) < outboxPage {
			break
		}
	}
	return found, nil
}

// dropUndeliverable removes the damaged entries from the outbox of a partition, and returns descriptions of the removed entries, for
// people. The entries of a newer build remain.
func (c *Client) dropUndeliverable(ctx context.Context, partition int, check bool) (dropped []string, err error) {
	found, err := Undeliverable(ctx, c.store, partition, math.MaxInt)
	if err != nil {
		return nil, err
	}
	var damaged []string
	for _, id := range slices.Sorted(maps.Keys(found)) {
		if store.RefusedAs(found[id]) == store.Corrupt {
			damaged, dropped = append(damaged, id), append(dropped, fmt.Sprintf("entry %s of the outbox of partition %d is damaged, and was not delivered", id, partition))
		}
	}
	if check {
		return dropped, nil
	}
	return dropped, c.store.Relay(ctx, partition, damaged)
}
