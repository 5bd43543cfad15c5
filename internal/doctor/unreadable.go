package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// maxRead is about how many runs of a store are read to find those that cannot be read and that no worker has met.
const maxRead = 1000

// unreadable reports the runs and the settings, tokens, schedules and so on that this build cannot read.
func unreadable(ctx context.Context, s store.Store, all *store.Statistics) Finding {
	runs, first, err := unreadableRuns(ctx, s)
	if err != nil {
		return failed("SD019", err)
	}
	var entries int64
	var why error
	if definition.GrantedIn(ctx) == nil { // the store's count and the registry are of all namespaces
		runs = max(runs, all.Unreadable)
		entries, why, err = unreadableEntries(ctx, s)
	}
	if err != nil {
		return failed("SD019", err)
	}
	if first == nil {
		first = why
	}
	if runs == 0 && entries == 0 {
		return Finding{"SD019", OK, "everything that was looked at can be read", ""}
	}
	what := fmt.Sprintf("%s and %s cannot be read", terminal.Counted(runs, "run"), terminal.Counted(entries, "registered thing"))
	if first != nil {
		what += ", for example: " + first.Error()
	}
	return Finding{"SD019", Error, what, "nothing goes on with them, and their deadlines do not fire: if a newer swrun has written them, use that version for all workers; otherwise restore them from a backup"}
}

// maxPages is how many times as many runs are read for a context that does not grant all namespaces: those of others may be the newest.
const maxPages = 20

// unreadableRuns counts the newest runs of each partition that cannot be read; first says why one cannot.
func unreadableRuns(ctx context.Context, s store.Store) (n int64, first, err error) {
	partitions := s.Layout().Partitions
	for p := range partitions {
		found, err := newestUnreadable(ctx, s, p, maxRead/partitions+1)
		if err != nil {
			return n, first, fmt.Errorf("list the runs: %w", err)
		}
		for _, u := range found {
			if n++; first == nil {
				first = u.Err
			}
		}
	}
	return n, first, nil
}

// newestUnreadable returns which of the newest runs of a partition that are granted cannot be read.
func newestUnreadable(ctx context.Context, s store.Store, partition, n int) (found []store.Unreadable, err error) {
	granted := definition.GrantedIn(ctx)
	looked, cursor := 0, ""
	load := loads{maxLoaded/s.Layout().Partitions + 1, maxLoadedBytes/s.Layout().Partitions + 1}
	for range maxPages {
		page, err := s.List(ctx, partition, cursor, n)
		if err != nil {
			return nil, err
		}
		for n := range page.Items {
			if one := &page.Items[n]; granted.Has(one.Instance.Namespace) {
				looked++
				if err := load.check(ctx, s, one); store.IsUnreadable(err) {
					found = append(found, store.Unreadable{Instance: one.Instance, Err: err})
				} else if err != nil {
					return nil, err
				}
			}
		}
		for _, u := range page.Unreadable {
			if granted.Has(u.Instance.Namespace) {
				looked, found = looked+1, append(found, u)
			}
		}
		if cursor = page.Cursor; cursor == "" || looked >= n {
			break
		}
	}
	return found, nil
}

// maxLoaded and maxLoadedBytes are about how many runs are loaded to find those whose states cannot be read, and how large their states are.
const maxLoaded, maxLoadedBytes = 200, 8 << 20

// loads is how much of the runs of a partition is still loaded.
type loads struct{ runs, bytes int }

// check returns the refusal of a run that is listed, but of which another part cannot be read.
func (l *loads) check(ctx context.Context, s store.Store, one *store.Listed) error {
	run := store.Loaded{Lifecycle: one.Lifecycle, Invocation: one.Invocation}
	why := run.CheckInvocation()
	if why == nil && l.runs > 0 && l.bytes > 0 {
		var err error
		if run, err = s.Load(ctx, one.Instance); store.RefusedAs(err) == store.NoSuch {
			return nil // it was deleted meanwhile
		} else if err != nil {
			return err
		}
		l.runs, l.bytes, why = l.runs-1, l.bytes-run.Size(), run.CheckState()
	}
	if why == nil {
		return nil
	}
	return store.RefuseUnreadable("run "+one.Instance.String(), why, time.Time{})
}

// unreadableEntries counts the entries of the registry that cannot be read, of the kinds that can be listed.
func unreadableEntries(ctx context.Context, s store.Store) (n int64, first, err error) {
	for _, kind := range store.RegistryKinds() {
		if !kind.Listed() {
			continue
		}
		all, err := s.ListRegistered(ctx, store.RegistryList{Kind: kind})
		if store.IsUnreadable(err) { // all of its kind
			if n++; first == nil {
				first = err
			}
			continue
		}
		if err != nil {
			return n, first, fmt.Errorf("list the registry: %w", err)
		}
		for _, one := range all {
			if err := store.CheckEntry(kind, one); err != nil {
				if n++; first == nil {
					first = err
				}
			}
		}
	}
	return n, first, nil
}
