package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

const (
	// parts is the number of examinations that together read the newest runs and the definitions of a store once, if no look becomes older than
	// keptFor.
	parts = 8
	// keptFor is the time for which a part of a store without damage counts as undamaged.
	keptFor = time.Minute
)

// Looks is a cache of the runs and definitions of a store, for examinations every few seconds. The first examination reads all parts. A later one
// reads the next part, the damaged parts, and the parts that were read too long ago. One examination at a time may use it.
type Looks struct {
	next int
	kept [parts]look
}

// look contains the damage in a part of a store.
type look struct {
	at      time.Time
	damaged damagedData
}

// read returns the damage in the runs and definitions of a store.
func (l *Looks) read(ctx context.Context, s store.Store, now time.Time) (all damagedData, err error) {
	for part := range l.kept {
		kept := &l.kept[part]
		if part == l.next || !kept.damaged.isZero() || kept.at.IsZero() || now.Sub(kept.at) >= keptFor {
			if kept.damaged, err = readPart(ctx, s, part); err != nil {
				kept.at = time.Time{}
				return all, err
			}
			kept.at = now
		}
		all.add(&kept.damaged)
	}
	l.next = (l.next + 1) % parts
	return all, nil
}

// readPart counts the damaged ones among the newest runs and the definitions of a part of a store.
func readPart(ctx context.Context, s store.Store, part int) (found damagedData, err error) {
	partitions := s.Layout().Partitions
	for p := part; p < partitions; p += parts {
		if err := found.newest(ctx, s, p, maxRead/partitions+1); err != nil {
			return found, fmt.Errorf("list the runs: %w", err)
		}
	}
	return found, found.undeployed(ctx, s, part)
}
