package api

import (
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Error returns the members of an error, which can always be encoded as JSON; nil for nil.
func Error(e *errors.Error) any {
	if e == nil {
		return nil
	}
	v, err := expr.Normalize(e.Value())
	if err != nil {
		plain := *e
		plain.Extensions = nil
		return plain.Value()
	}
	return v
}

// ParseError reads the members that Error has returned; nil for nil. For other values it returns an error whose detail reports the mistake.
func ParseError(members any) *errors.Error {
	if members == nil {
		return nil
	}
	e, err := errors.FromValue(members)
	if err != nil {
		return errors.Runtimef("%s", err)
	}
	return e
}

// ParseTime reads the text of Time; the zero time for another text.
func ParseTime(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// TimeoutLength returns the length of the timeout if e is the error of a deadline.
func TimeoutLength(e *errors.Error) (time.Duration, bool) {
	from, ok := timeOf(e.Extensions["startedAt"])
	to, ok2 := timeOf(e.Extensions["deadline"])
	return to.Sub(from), ok && ok2
}

func timeOf(v any) (time.Time, bool) {
	text, ok := v.(string)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}
