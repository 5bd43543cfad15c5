package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

const (
	// parts is the number of examinations that together read the newest runs and the definitions of a store once, if no look becomes older than
	// keptFor.
	parts = 8
	// keptFor is the time for which a part of a store without damage counts as undamaged.
	keptFor = time.Minute
	// maxKeyPages limits the pages of keys of a server that are read to find entries that their lists lack. listsKeptFor is how long it counts that
	// none was found.
	maxKeyPages, listsKeptFor = 100, 10 * time.Minute
)

// Looks is a cache of the runs and definitions of a store, for examinations every few seconds. The first examination reads all parts. A later one
// reads the next part, the damaged parts, and the parts that were read too long ago. One examination at a time may use it.
type Looks struct {
	next int
	kept [parts]look

	listsAt  time.Time // when the lists of the registry were read; zero for never
	unlisted []string  // errors in them, for people
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

// lists reports entries of the registry that are missing in the list of their kind. They belong to the whole deployment.
func (l *Looks) lists(ctx context.Context, s store.Store, now time.Time) []Finding {
	if definition.GrantedIn(ctx) != nil {
		return nil
	}
	if age := now.Sub(l.listsAt); l.listsAt.IsZero() || age >= listsKeptFor || age >= keptFor && len(l.unlisted) > 0 {
		l.listsAt, l.unlisted = now, nil
		for p := range s.Layout().Partitions {
			found, err := client.Unlisted(ctx, s, p, maxKeyPages, true)
			if err != nil {
				l.listsAt = time.Time{}
				return []Finding{Failed(ctx, "SD006", err)}
			}
			l.unlisted = append(l.unlisted, found...)
		}
	}
	if len(l.unlisted) == 0 {
		return nil
	}
	return []Finding{{"SD006", Error, fmt.Sprintf("%s in the lists of the registry, for example: %s", terminal.Counted(len(l.unlisted), "error"), l.unlisted[0]),
		"swrun repair corrects the lists"}}
}
