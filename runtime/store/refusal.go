package store

import (
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
)

// Code is why a store refuses a transition. Nothing has been written then.
type Code string

// The codes (docs/engine.md, Refusals).
const (
	Fenced     Code = "FENCED"      // the token does not count any more
	Closed     Code = "CLOSED"      // the instance has ended
	TimedOut   Code = "TIMED_OUT"   // a deadline has passed, so that what happened comes too late
	Conflict   Code = "CONFLICT"    // something else is there under that name, or the state forbids it
	Limit      Code = "LIMIT"       // something would become too large
	Guard      Code = "GUARD"       // the store's clock has not come that far, or has jumped
	RolledBack Code = "ROLLED_BACK" // the store has lost writes
	NoSuch     Code = "NO_SUCH"     // there is no such thing
	Corrupt    Code = "CORRUPT"     // what is there cannot be read
	TooMany    Code = "TOO_MANY"    // the family of an instance has started as many in a day as it may
)

// Refusal is a transition that a store has not made.
type Refusal struct {
	Code   Code
	Detail string    // what was asked for, or what is in the way
	At     time.Time // by the store's clock, if the store told
}

func (r *Refusal) Error() string {
	meaning := map[Code]string{
		Fenced: "another worker has taken it over", Closed: "it has ended", TimedOut: "its time is over",
		Conflict: "it conflicts with what is there", Limit: "a limit is reached", Guard: "the store's clock forbids it",
		RolledBack: "the store has lost writes", NoSuch: "it is not there", Corrupt: "what is stored of it cannot be read",
		TooMany: "too many of its family have started",
	}[r.Code]
	return fmt.Sprintf("%s: %s", r.Detail, meaning)
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

// RefusedAs returns the code of the refusal in err, or the empty code.
func RefusedAs(err error) Code {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}
