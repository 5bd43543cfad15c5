package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

const (
	// parts is how many examinations read the newest runs and the definitions of a store once, if they are so frequent that none is older than keptFor.
	parts = 8
	// keptFor is how long it counts that nothing was damaged in a part of a store.
	keptFor = time.Minute
)

// Looks keeps what was read of the runs and definitions of a store, for examinations every few seconds. The first one reads all. A later one reads the next
// part, the parts in which something is damaged, and those that were read too long ago. One examination at a time may use it.
type Looks struct {
	next int
	kept [parts]look
}

// look is what was damaged in a part of a store.
type look struct {
	at      time.Time
	damaged damagedData
}

// read returns what is damaged in the runs and definitions of a store.
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

// readPart counts the newest runs and the definitions of a part of a store of which something is damaged.
func readPart(ctx context.Context, s store.Store, part int) (found damagedData, err error) {
	partitions := s.Layout().Partitions
	for p := part; p < partitions; p += parts {
		if err := found.newest(ctx, s, p, maxRead/partitions+1); err != nil {
			return found, fmt.Errorf("list the runs: %w", err)
		}
	}
	return found, found.undeployed(ctx, s, part)
}
