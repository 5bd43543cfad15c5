package client

import (
	"cmp"
	"slices"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Permission reports whether a verb is possible for a run in its present state. A command that is not allowed is refused. A command that is
// allowed but has a reason against it changes nothing.
type Permission struct {
	Verb    string
	Allowed bool
	Reason  string // why it is not allowed, or why it would change nothing; empty otherwise
}

// Useful reports whether the verb would do something.
func (p Permission) Useful() bool { return p.Allowed && p.Reason == "" }

// Refuses returns the refusal of a verb that is not for the run as it is now; nil if it is for it.
func (d *Description) Refuses(verb string) error {
	final := d.Lifecycle.Status.Final()
	if verb == string(store.VerbRetryNow) && !final && !d.awaitsAttempt() {
		return notDelayed(d.Instance)
	}
	for _, p := range d.Permissions() {
		if p.Verb == verb && p.Allowed {
			return nil
		}
	}
	if final && verb != string(store.VerbRetry) {
		return &store.Refusal{Code: store.Closed, Detail: "run " + d.Instance.String()}
	}
	return &store.Refusal{Code: store.Conflict, Detail: "run " + d.Instance.String()}
}

// NoEffect returns the reason for which a verb changes nothing at the run now; empty if it may change something.
func (d *Description) NoEffect(verb string) string {
	if d.attended() && d.Lifecycle.Unread() || d.Lifecycle.Mail-d.Lifecycle.Read > unreadShown {
		return "" // the commands among the messages that wait are not all known
	}
	for _, p := range d.Permissions() {
		if p.Verb == verb && p.Allowed {
			return p.Reason
		}
	}
	return ""
}

// PermissionVerbs returns the verbs of permissions, in the order of their display.
func PermissionVerbs() []string {
	return []string{
		string(store.VerbRetry), string(store.VerbRetryNow), string(store.VerbResume), string(store.VerbCancel), string(store.VerbTerminate),
		string(store.VerbSuspend), VerbOutput, VerbDelete,
	}
}

// Permissions returns the possible and the impossible verbs for the run.
func (d *Description) Permissions() []Permission {
	if d.Earlier != nil {
		return d.Earlier.refuses()
	}
	final := d.Lifecycle.Status.Final()
	ended := ""
	if final {
		ended = "it has ended (" + d.Lifecycle.Reason + ")"
	}
	on := func(verb store.Verb, useless string) Permission {
		if final {
			return Permission{Verb: string(verb), Reason: ended}
		}
		return Permission{string(verb), true, useless}
	}
	ending := d.ending()
	stopped := d.stopped()
	suspended, idle := "", "it is not suspended"
	if d.Suspends() {
		suspended, idle = "it is suspended already", ""
	}
	terminating := ""
	if slices.Contains(d.Commands, store.VerbTerminate) {
		terminating = ending
	}
	retry := Permission{Verb: string(store.VerbRetry), Reason: ended}
	switch {
	case !final && d.Status != store.Quarantined:
		retry.Reason = "it is not quarantined, and has not failed"
	case d.Lifecycle.Continuation != "" && d.Lifecycle.Status != interpreter.StatusCompleted:
		retry.Reason = "it goes on as " + d.Lifecycle.Continuation
	case d.Lifecycle.Status != interpreter.StatusCompleted:
		retry = Permission{Verb: string(store.VerbRetry), Allowed: true}
	}
	return []Permission{
		retry, d.retryingNow(ended), on(store.VerbResume, cmp.Or(ending, stopped, idle)), on(store.VerbCancel, ending), on(store.VerbTerminate, terminating),
		on(store.VerbSuspend, cmp.Or(ending, stopped, suspended)), d.reading(), d.deleting(),
	}
}

// retryingNow reports whether a task of the run can continue before the time of its next attempt. ended is the reason why a run that ended
// has no such task.
func (d *Description) retryingNow(ended string) Permission {
	if ended == "" && d.awaitsAttempt() {
		return Permission{Verb: string(store.VerbRetryNow), Allowed: true}
	}
	return Permission{Verb: string(store.VerbRetryNow), Reason: cmp.Or(ended, "no task waits for its next attempt")}
}

// The verbs of permissions that are no commands to a run.
const (
	VerbOutput = "output"
	VerbDelete = "delete"
)

func (d *Description) reading() Permission {
	p := Permission{Verb: VerbOutput, Allowed: d.Lifecycle.Status == interpreter.StatusCompleted}
	switch {
	case p.Allowed:
	case d.Lifecycle.Status.Final():
		p.Reason = "it has ended without one (" + d.Lifecycle.Reason + ")"
	default:
		p.Reason = "it has not ended yet"
	}
	return p
}

func (d *Description) deleting() Permission {
	if d.Lifecycle.Status.Final() {
		return Permission{VerbDelete, true, ""}
	}
	return Permission{VerbDelete, false, "it is " + d.Status + ": cancel or terminate it first"}
}

// ending describes that the run is about to end on request; empty otherwise.
func (d *Description) ending() string {
	for _, verb := range []store.Verb{store.VerbTerminate, store.VerbCancel} {
		if slices.Contains(d.Commands, verb) {
			return "a " + string(verb) + " waits for a worker already"
		}
	}
	return ""
}

// stopped describes that no task of the run starts, because it is quarantined.
func (d *Description) stopped() string {
	if d.Status == store.Quarantined {
		return "it is quarantined: no task of it starts"
	}
	return ""
}

// Suspends reports whether the run is suspended, or will be when a worker carries out its commands.
func (d *Description) Suspends() bool {
	last := d.State.Suspended
	for _, verb := range d.Commands {
		if verb == store.VerbSuspend || verb == store.VerbResume {
			last = verb == store.VerbSuspend
		}
	}
	return last
}
