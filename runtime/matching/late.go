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

// Late reports are recorded in the history of their run: each distinct report once.

const (
	// MaxLate is how many late reports about an activity are noted in a day. More are refused as these are, without a note: a worker must not be able to fill
	// a history.
	MaxLate = 100
	// MaxLateOfRun is how many are noted of a run, which may have given a worker many activities.
	MaxLateOfRun = 500
	// MaxLateEntries is how many entries of the registry a namespace has for late reports: the runs of a namespace share them.
	MaxLateEntries = 64
	// MaxLateOfEntry is how many reports an entry holds.
	MaxLateOfEntry = 1000
	// maxLateBytes is how much the notes of a run may add to its history in a day, as far as the worker decides it: worker and pointer.
	maxLateBytes = 2 << 20
)

// late are the reports about activities of some runs that were noted within the last day.
type late []lateNote

// lateNote is a report that was noted.
type lateNote struct {
	Run    string               `json:"run"` // its digest
	Effect interpreter.EffectID `json:"effect"`
	Said   string               `json:"said"` // the digest of the attempt and of the content of the report
	Bytes  int                  `json:"bytes,omitempty"`
	At     time.Time            `json:"at"`
}

func (n lateNote) equals(other lateNote) bool {
	return n.Run == other.Run && n.Effect == other.Effect && n.Said == other.Said
}

// isFull reports whether a report cannot be noted because too many are.
func (all late) isFull(n lateNote) bool {
	ofRun, ofActivity, bytes := 0, 0, n.Bytes
	for _, o := range all {
		if o.Run != n.Run {
			continue
		}
		ofRun, bytes = ofRun+1, bytes+o.Bytes
		if o.Effect == n.Effect {
			ofActivity++
		}
	}
	return len(all) >= MaxLateOfEntry || ofRun >= MaxLateOfRun || ofActivity >= MaxLate || bytes > maxLateBytes
}

// lateReports returns the entry of the registry with the recorded late reports about a run.
func lateReports(run store.Instance) store.RegistryEntry[late] {
	key := fmt.Sprintf("%s/%d", run.Namespace, run.Partition(MaxLateEntries))
	return store.RegistryEntry[late]{Kind: store.RegistryLate, Key: key, For: func(*late) time.Duration { return store.Remembered }}
}

// Why the history does not note a late report.
const (
	unsealed = "a server of an earlier version has given the token, or the token was made up"
	misfit   = "the token is not as a server of this deployment has given it"
	tooMany  = "it notes only so many in a day"
	ranOut   = "the run is not there any more, or has ended more than a day ago"
)

// noteGiven notes a report that came too late, if its token is as a server has given it to a worker. It returns why the history does not note the report;
// empty if it does.
func (m *Matcher) noteGiven(ctx context.Context, t ticket, r report) (unnoted string, err error) {
	given, err := m.wasGiven(ctx, t)
	switch {
	case err != nil:
		return "", err
	case given:
		return m.note(ctx, t, r)
	}
	m.countMadeUp(t)
	if t.seal == "" {
		return unsealed, nil
	}
	return misfit, nil
}

// note adds to the history of a run that a report came too late. A worker may repeat it: that is no other report.
func (m *Matcher) note(ctx context.Context, t ticket, r report) (unnoted string, err error) {
	is := lateNote{
		Run: digest(t.Run.String()), Effect: t.Effect, Said: digest([]any{t.nonce, r.kind, r.content}),
		Bytes: len(t.worker) + len(t.pointer), At: m.c.Now().UTC().Truncate(time.Second),
	}
	if unnoted, err = m.isNoted(ctx, t.Run, is); err != nil || unnoted != "" {
		return unnoted, err
	}
	late := interpreter.ReportedLate{
		Effect: t.Effect, Attempt: interpreter.Attempt{Number: t.number, Worker: t.worker}, Pointer: t.pointer, Report: r.kind,
	}
	message, err := inbox.Message{
		Type: interpreter.EventReportedLate, Effect: late.Effect, Attempt: late.Attempt, Pointer: late.Pointer, Report: late.Report,
	}.Encode()
	if err != nil {
		return "", err
	}
	err = m.c.Store.Deliver(ctx, store.Delivery{To: t.Run, ID: fmt.Sprintf("late %s %s", t.ActivityID, is.Said), Message: message, Late: &late})
	if store.RefusedAs(err) != "" { // the run is gone, or ended more than a day ago
		return ranOut, nil
	}
	return "", err
}

var (
	// errManyLate is that no other report about an activity is noted.
	errManyLate = errors.New("too many reports about the activity came too late")
	// errCounted is that a report is counted already.
	errCounted = errors.New("the report is counted already")
)

// isNoted counts a report, and returns the reason why it is not recorded; empty if it is to be recorded. It is counted before it is
// recorded: if recording fails, the worker repeats the report. A report about a missing run is not counted.
func (m *Matcher) isNoted(ctx context.Context, run store.Instance, is lateNote) (unnoted string, err error) {
	if _, err := m.c.Store.History(ctx, run, 0, 1); err != nil {
		if store.RefusedAs(err) == store.NoSuch {
			return ranOut, nil
		}
		return "", err
	}
	_, err = lateReports(run).Change(ctx, m.c.Store, func(all *late) error {
		*all = slices.DeleteFunc(*all, func(o lateNote) bool { return is.At.Sub(o.At) >= store.Remembered })
		switch {
		case slices.ContainsFunc(*all, is.equals):
			return errCounted
		case all.isFull(is):
			return errManyLate
		}
		*all = append(*all, is)
		return nil
	}, func(*late) bool { return false })
	switch {
	case errors.Is(err, errManyLate):
		return tooMany, nil
	case errors.Is(err, errCounted):
		return "", nil
	}
	return "", err
}
