package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// maxRead is the approximate number of runs of a store that are read to find unreadable ones that no worker has met.
const maxRead = 1000

// unreadable reports the runs, settings, tokens, schedules and other entries that this build cannot read, and the runs that lack activities.
func (l *Looks) unreadable(ctx context.Context, s store.Store, now time.Time, all *store.Statistics) []Finding {
	read, err := l.read(ctx, s, now)
	var entries damagedEntries
	if err == nil && definition.GrantedIn(ctx) == nil { // the store's count and the registry concern all namespaces
		read.unreadable = max(read.unreadable, all.Unreadable)
		if entries, err = unreadableEntries(ctx, s); err != nil {
			err = fmt.Errorf("list the registry: %w", err)
		}
	}
	if err != nil {
		return []Finding{Failed(ctx, "SD019", err)}
	}
	var found []Finding
	if read.unreadable > 0 || entries.n+read.definitions > 0 {
		found = append(found, cannotBeRead(&read, &entries))
	}
	if read.lacking > 0 {
		found = append(found, Finding{"SD019", Warning, fmt.Sprintf("stored activities of %s are damaged or missing, for example %s", terminal.Counted(read.lacking, "run"), read.lacks),
			"swrun repair schedules them again. Workers do that, too: on a file at their start, on Redis within 10 minutes"})
	}
	if found = append(found, undeliverable(ctx, s)...); len(found) == 0 {
		found = append(found, Finding{"SD019", OK, "all examined data can be read", ""})
	}
	return found
}

// undeliverable reports the messages that have left runs and cannot be read. Their namespaces are not known.
func undeliverable(ctx context.Context, s store.Store) []Finding {
	if definition.GrantedIn(ctx) != nil {
		return nil
	}
	count, first, err := Undeliverable(ctx, s)
	if err != nil {
		return []Finding{Failed(ctx, "SD019", err)}
	}
	if count == 0 {
		return nil
	}
	return []Finding{{"SD019", Error, fmt.Sprintf("%s of runs cannot be read or delivered, for example: %s", terminal.Counted(int64(count), "message"), first),
		"swrun repair removes damaged messages. A run that waits for such a message, for example for the start of its child, waits until it is cancelled. If a newer swrun has written them, use that version for all workers"}}
}

// Undeliverable counts the messages that have left runs and cannot be read, and returns the error of the first one. It reads about maxRead messages.
func Undeliverable(ctx context.Context, s store.Store) (count int, first, err error) {
	for p := range s.Layout().Partitions {
		found, err := client.Undeliverable(ctx, s, p, maxRead/s.Layout().Partitions+1)
		if err != nil {
			return count, first, err
		}
		count += len(found)
		for _, id := range slices.Sorted(maps.Keys(found)) {
			first = cmp.Or(first, found[id])
		}
	}
	return count, first, nil
}

// The remedies for damaged runs and definitions.
const (
	runFix        = "a damaged run does not continue, and its deadlines do not fire; restore the store from a backup"
	inboxFix      = "a run with a damaged message in its inbox does not continue, and its deadlines do not fire; swrun terminate ends it, or restore the store from a backup"
	historyFix    = "a run with a damaged history continues, but describe, history, export and fork of it fail; restore the store from a backup to read the history"
	strayFix      = "swrun repair removes entries of the list of runs that name no run"
	definitionFix = "deploy the document of a damaged workflow again"
)

// cannotBeRead reports the number of unreadable runs and entries of the registry, with an example, and the remedies for their causes.
func cannotBeRead(read *damagedData, entries *damagedEntries) Finding {
	fixes := slices.Clone(read.fixes)
	if read.unreadable > 0 && read.first == nil { // the store only counts it
		fixes = []string{runFix, newerFix}
	}
	if read.definitions > 0 {
		fix := definitionFix
		if store.RefusedAs(read.undefined) == store.Newer {
			fix = newerFix
		}
		fixes = withFix(fixes, fix)
	}
	for _, fix := range entries.fixes {
		fixes = withFix(fixes, fix)
	}
	what := fmt.Sprintf("%s and %s cannot be read", terminal.Counted(read.unreadable, "run"), terminal.Counted(entries.n+read.definitions, "registered thing"))
	if first := cmp.Or(read.first, entries.first, read.undefined); first != nil {
		what += ", for example: " + first.Error()
	}
	return Finding{"SD019", Error, what, strings.Join(fixes, ". ")}
}

// maxPages is the factor of the runs that are read for a context that does not grant all namespaces: runs of others may be the newest.
const maxPages = 20

// damagedData are damaged runs and definitions.
type damagedData struct {
	unreadable  int64
	first       error // error of one of the unreadable runs
	fixes       []string
	lacking     int64 // readable runs that lack activities
	lacks       string
	definitions int64
	undefined   error // error of one of the unreadable definitions
}

// isZero reports whether nothing is damaged.
func (d *damagedData) isZero() bool { return d.unreadable+d.lacking+d.definitions == 0 }

// add adds the damage of another part of the store.
func (d *damagedData) add(o *damagedData) {
	d.unreadable, d.first = d.unreadable+o.unreadable, cmp.Or(d.first, o.first)
	for _, fix := range o.fixes {
		d.fixes = withFix(d.fixes, fix)
	}
	d.lacking, d.lacks = d.lacking+o.lacking, cmp.Or(d.lacks, o.lacks)
	d.definitions, d.undefined = d.definitions+o.definitions, cmp.Or(d.undefined, o.undefined)
}

// note counts a run by its error, or else by its lack.
func (d *damagedData) note(unreadable error, lacks string) {
	switch {
	case unreadable != nil:
		d.unreadable++
		d.first = cmp.Or(d.first, unreadable)
		fix := runFix
		switch {
		case store.RefusedAs(unreadable) == store.Newer:
			fix = newerFix
		case errors.As(unreadable, new(messageError)):
			fix = inboxFix
		case errors.As(unreadable, new(historyError)):
			fix = historyFix
		case errors.As(unreadable, new(strayError)):
			fix = strayFix
		}
		d.fixes = withFix(d.fixes, fix)
	case lacks != "":
		d.lacking++
		d.lacks = cmp.Or(d.lacks, lacks)
	}
}

// newest counts the damage among the newest granted runs of a partition.
func (d *damagedData) newest(ctx context.Context, s store.Store, partition, n int) error {
	granted := definition.GrantedIn(ctx)
	looked, cursor := 0, ""
	load := loads{maxLoaded/s.Layout().Partitions + 1, maxLoadedBytes/s.Layout().Partitions + 1}
	for range maxPages {
		page, err := s.List(ctx, partition, cursor, n)
		if err != nil {
			return err
		}
		for n := range page.Items {
			if one := &page.Items[n]; granted.Has(one.Instance.Namespace) {
				looked++
				lacks, err := load.check(ctx, s, one)
				if err != nil && !store.IsDamage(err) {
					return err
				}
				d.note(err, lacks)
			}
		}
		for _, u := range page.Unreadable {
			if granted.Has(u.Instance.Namespace) {
				looked++
				err := u.Err
				if u.Instance == (store.Instance{}) {
					err = strayError{err}
				}
				d.note(err, "")
			}
		}
		if cursor = page.Cursor; cursor == "" || looked >= n {
			break
		}
	}
	return nil
}

// maxLoaded and maxLoadedBytes are the approximate limits of the number and of the size of the runs that are loaded to find unreadable states.
const maxLoaded, maxLoadedBytes = 200, 8 << 20

// loads is the remaining budget for loading runs of the partition.
type loads struct{ runs, bytes int }

// check returns the refusal of a listed run if another part of it cannot be read, and the activities that it lacks, for people.
func (l *loads) check(ctx context.Context, s store.Store, one *store.Listed) (lacks string, err error) {
	run := store.Loaded{Lifecycle: one.Lifecycle, Invocation: one.Invocation}
	why := run.CheckInvocation()
	if why == nil && l.runs > 0 && l.bytes > 0 {
		if run, err = s.Load(ctx, one.Instance); store.RefusedAs(err) == store.NoSuch {
			return "", nil // it was just deleted
		} else if err != nil {
			return "", err
		}
		l.runs, l.bytes, why, lacks = l.runs-1, l.bytes-run.Size(), run.CheckState(), activity.Lacking(one.Instance, &run)
		if last := int(run.Lifecycle.Entries) - 1; why == nil && last >= 0 {
			if _, err := s.History(ctx, one.Instance, last, 1); store.IsUnreadable(err) {
				return "", historyError{err}
			} else if err != nil && store.RefusedAs(err) != store.NoSuch {
				return "", err
			}
		}
	}
	if why == nil {
		return lacks, l.checkInbox(ctx, s, one)
	}
	return "", store.RefuseUnreadable("run "+one.Instance.String(), why, time.Time{})
}

// maxMessages is the maximum number of messages to a run that are read.
const maxMessages = 10

// checkInbox returns the refusal of a run if one of its first unread messages cannot be read.
func (l *loads) checkInbox(ctx context.Context, s store.Store, one *store.Listed) error {
	if one.Lifecycle.Status.Final() || !one.Lifecycle.Unread() && l.runs <= 0 || l.bytes <= 0 {
		return nil
	}
	messages, err := s.Inbox(ctx, one.Instance, maxMessages) // even if no message is expected: an overwritten inbox takes no command
	if !one.Lifecycle.Unread() {
		return err
	}
	for n, data := range messages {
		l.bytes -= len(data)
		if _, _, bad := inbox.Read(one.Instance, one.Lifecycle.Read+int64(n)+1, data); bad != nil {
			return messageError{bad}
		}
	}
	return err
}

// messageError is about a run with an unreadable message: the run can be terminated.
type messageError struct{ error }

func (e messageError) Unwrap() error { return e.error }

// historyError reports a damaged history. The run itself continues.
type historyError struct{ error }

func (e historyError) Unwrap() error { return e.error }

// strayError is about an entry in the list of runs that names no run.
type strayError struct{ error }

func (e strayError) Unwrap() error { return e.error }

// undeployed counts the workflows whose definitions cannot be read, in a part of them. All parts together read about maxLoaded definitions.
func (d *damagedData) undeployed(ctx context.Context, s store.Store, part int) error {
	deployed, err := definition.AllDeployed(ctx, s, "", "")
	if err != nil {
		return fmt.Errorf("list the workflows: %w", err)
	}
	looked, bytes := 0, 0
	for _, w := range deployed {
		for _, v := range w.Versions {
			if looked++; looked > maxLoaded || bytes > maxLoadedBytes/parts {
				return nil
			}
			if looked%parts != part {
				continue
			}
			loaded, err := definition.Load(ctx, s, v.Digest)
			bytes += len(loaded.Document)
			if store.IsUnreadable(err) {
				d.definitions++
				d.undefined = cmp.Or(d.undefined, definition.NameUnreadable(definition.Reference{Namespace: w.Namespace, Name: w.Name, Version: v.Version}, err))
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}
