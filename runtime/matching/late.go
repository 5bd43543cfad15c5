package matching

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// Reports that came too late are noted in the history of their run: each that says something else once.

// MaxLate is how many late reports about an activity are noted. More are refused as these are, without a note: a worker must not be able to fill a history.
const MaxLate = 100

// late are the reports about an activity that are noted, each by its attempt and what it said.
type late []string

// lateReports returns where it stands which reports about an activity are noted.
func lateReports(id store.ActivityID) store.RegistryEntry[late] {
	key := fmt.Sprintf("%s#%d", id.Run, id.Effect)
	return store.RegistryEntry[late]{Kind: store.RegistryLate, Key: key, For: func(*late) time.Duration { return store.Remembered }}
}

// note adds to the history of a run that a report came too late. A worker may repeat it: that is no other report.
func (m *Matcher) note(ctx context.Context, t ticket, r report) error {
	is := t.nonce + " " + r.kind + " " + r.content
	if noted, err := m.isNoted(ctx, t.ActivityID, is); err != nil || !noted {
		return err
	}
	late := interpreter.ReportedLate{
		Effect: t.Effect, Attempt: interpreter.Attempt{Number: t.number, Worker: t.worker}, Pointer: t.pointer, Report: r.kind,
	}
	message, err := inbox.Message{
		Type: interpreter.EventReportedLate, Effect: late.Effect, Attempt: late.Attempt, Pointer: late.Pointer, Report: late.Report,
	}.Encode()
	if err != nil {
		return err
	}
	err = m.c.Store.Deliver(ctx, store.Delivery{To: t.Run, ID: fmt.Sprintf("late %s %s", t.ActivityID, is), Message: message, Late: &late})
	if store.RefusedAs(err) != "" { // the run is gone, or ended more than a day ago
		return nil
	}
	return err
}

// errManyLate is that no other report about an activity is noted.
var errManyLate = errors.New("too many reports about the activity came too late")

// isNoted has a report counted, and reports whether it belongs to those that are noted. It is counted before it is noted: if the note fails, the worker
// repeats the report.
func (m *Matcher) isNoted(ctx context.Context, id store.ActivityID, is string) (bool, error) {
	entry := lateReports(id)
	known, _, err := entry.Load(ctx, m.c.Store)
	if err != nil || slices.Contains(known, is) {
		return true, err
	}
	_, err = entry.Change(ctx, m.c.Store, func(all *late) error {
		switch {
		case slices.Contains(*all, is):
		case len(*all) >= MaxLate:
			return errManyLate
		default:
			*all = append(*all, is)
		}
		return nil
	}, func(*late) bool { return false })
	if errors.Is(err, errManyLate) {
		return false, nil
	}
	return true, err
}
