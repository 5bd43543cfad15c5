package store

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/internal/shorten"
)

// Code is why a store refuses a transition. Nothing has been written then.
type Code string

// The codes (docs/engine.md, Refusals).
const (
	Fenced     Code = "FENCED"      // the token does not count any more
	Closed     Code = "CLOSED"      // the run ended
	TimedOut   Code = "TIMED_OUT"   // a deadline has passed, so that what happened comes too late
	Conflict   Code = "CONFLICT"    // something else is there under that name, or the state forbids it
	Limit      Code = "LIMIT"       // something would become too large
	TooEarly   Code = "TOO_EARLY"   // the store's clock is earlier than required, or jumped
	RolledBack Code = "ROLLED_BACK" // the store has lost writes
	NoSuch     Code = "NO_SUCH"     // there is no such thing
	Corrupt    Code = "CORRUPT"     // the stored data cannot be read
	Newer      Code = "NEWER"       // the stored data has a form that only newer builds read
	TooMany    Code = "TOO_MANY"    // a run has led to as many others in a day as it may
	Suspended  Code = "SUSPENDED"   // the run of an activity is suspended: the activity is available again when the run is resumed
	Invalid    Code = "INVALID"     // the store can neither keep nor look up the given value
)

// Refusal is a transition that a store has not made.
type Refusal struct {
	Code   Code
	Detail string    // the subject of the refusal as it appears in a sentence: run demo/one
	Reason string    // rest of the sentence, with details that the code does not contain: is pending: cancel it first
	At     time.Time // by the store's clock, if it is known
}

// maxDetail is the maximum number of bytes of a detail in the sentence of a refusal, since a caller may pass a name that no run can have.
const maxDetail = 400

// Error returns a sentence about the refused request.
func (r *Refusal) Error() string {
	detail := shorten.To(r.Detail, maxDetail)
	if r.Reason != "" {
		return detail + " " + r.Reason
	}
	sentence := map[Code]string{
		Fenced: "%s was taken over by another worker", Closed: "%s has ended", TimedOut: "the time of %s is over",
		Conflict: "%s is stored already, as something else or in another state", Limit: "a limit is reached: %s",
		TooEarly: "%s: the store's clock has not reached the required time", RolledBack: "%s has lost writes that the store had confirmed",
		NoSuch: "there is no %s", Corrupt: "%s cannot be read", Newer: "%s cannot be read", TooMany: "%s belongs to a family that has led to too many runs today",
		Invalid: "there can be no such thing as %s", Suspended: "%s waits until its run is resumed",
	}[r.Code]
	return fmt.Sprintf(cmp.Or(sentence, "%s is refused"), detail)
}

// Is makes errors.Is find refusals by their code alone.
func (r *Refusal) Is(target error) bool {
	other, ok := target.(*Refusal)
	return ok && other.Code == r.Code && other.Detail == "" && other.At.IsZero()
}

// Refuse returns a refusal.
func Refuse(code Code, at time.Time, format string, args ...any) error {
	return &Refusal{Code: code, Detail: fmt.Sprintf(format, args...), At: at}
}

// IsUnreadable reports whether an error means that stored data cannot be read: it is damaged, or was written by a newer build.
func IsUnreadable(err error) bool {
	code := RefusedAs(err)
	return code == Corrupt || code == Newer
}

// IsDamage reports whether an error is about something that is stored and cannot be read: a run, or another part of the store.
func IsDamage(err error) bool { return IsUnreadable(err) || errors.As(err, new(PartError)) }

// RefuseUnreadable returns the refusal of something that cannot be read: as Newer if a newer build has written it, and as Corrupt otherwise.
func RefuseUnreadable(name string, why error, at time.Time) error {
	code := Corrupt
	if form.IsNewer(why) {
		code = Newer
	}
	return &Refusal{Code: code, Detail: name, Reason: "cannot be read: " + shorten.To(fmt.Sprint(why), maxDetail), At: at}
}

// ListError reports that another program has overwritten the list of a kind of entries of the registry. The entries are still stored.
type ListError struct {
	Kind RegistryKind
	Part PartError
}

// Error returns the message.
func (e *ListError) Error() string {
	return fmt.Sprintf("the list of %s cannot be read: %s", e.Kind, e.Part)
}

// Unwrap returns the refusal, and the error of the part.
func (e *ListError) Unwrap() []error {
	return []error{&Refusal{Code: Corrupt, Detail: "the list of " + string(e.Kind)}, e.Part}
}

// Help returns the remedy, with the flags that the command needs to use the same store.
func (e *ListError) Help(target string) string { return RebuildLists(target) }

// RebuildLists returns the remedy for overwritten lists of entries of the registry.
func RebuildLists(target string) string {
	return "swrun repair" + target + " rebuilds the lists of the registry from their entries"
}

// NoRecord is the reason why a run cannot be read of which only some parts are stored.
func NoRecord(parts []string) error {
	return fmt.Errorf("it has no record, and these parts of it are stored: %s", strings.Join(parts, ", "))
}

// NamesNothing describes an entry of the list of runs that names a run of which nothing is stored.
func NamesNothing(i Instance) error {
	return fmt.Errorf("it names the run %s, and nothing of this run is stored", i)
}

// RefusedAs returns the code of the refusal in err, or the empty code.
func RefusedAs(err error) Code {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}
