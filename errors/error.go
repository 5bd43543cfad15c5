// Package errors holds the workflow error: the only kind of error that a workflow can raise, catch or fault with.
//
// It is an RFC 9457 problem whose instance is a JSON Pointer into the workflow's definition (DSL reference, "Error"). The eight standard types have
// one constructor each. The package also exports the functions of the standard library's package errors, so that a file needs only one errors
// package.
package errors

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/internal/shorten"
)

// Error is a workflow error. Type and Status are always set; the other members may be empty.
type Error struct {
	Type     string // URI that identifies the type, for example Timeout's
	Status   int    // status code, as in HTTP
	Title    string // short summary, the same for every occurrence
	Detail   string // description of this occurrence
	Instance string // JSON Pointer of the component that raised the error; "/" is the workflow itself

	// Extensions are further members, for example a timeout's deadline. They never replace a standard member.
	Extensions map[string]any
}

// Error formats e for people on one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", Name(e.Type), e.Status)
	if e.Title != "" {
		b.WriteString(" " + e.Title)
	}
	if e.Instance != "" {
		b.WriteString(" at " + e.Instance)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if c, ok := e.ExpressionContext(); ok {
		b.WriteString("; in " + c.String())
	}
	return b.String()
}

// At returns a copy of e that names instance as its origin, or e itself if it names one already.
func (e *Error) At(instance string) *Error {
	if e.Instance != "" {
		return e
	}
	located := *e
	located.Instance = instance
	return &located
}

// With returns a copy of e with the extension member name.
func (e *Error) With(name string, value any) *Error {
	extended := *e
	extended.Extensions = maps.Clone(e.Extensions)
	if extended.Extensions == nil {
		extended.Extensions = map[string]any{}
	}
	extended.Extensions[name] = value
	return &extended
}

// NonRetryable is the extension member, true, of an error that must not be tried again.
const NonRetryable = "nonRetryable"

// IsNonRetryable reports whether e must not be tried again.
func (e *Error) IsNonRetryable() bool { return e.Extensions[NonRetryable] == true }

// Value returns e as the JSON object that expressions see: absent members are left out.
func (e *Error) Value() map[string]any {
	v := make(map[string]any, 5+len(e.Extensions))
	maps.Copy(v, e.Extensions)
	v["type"], v["status"] = e.Type, e.Status
	for name, member := range map[string]string{"title": e.Title, "detail": e.Detail, "instance": e.Instance} {
		delete(v, name)
		if member != "" {
			v[name] = member
		}
	}
	return v
}

// FromValue reads an error from the JSON object v. The members type (string) and status (whole number) are required.
func FromValue(v any) (*Error, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("an error must be an object, got %s", excerpt(v))
	}
	e := &Error{}
	for _, name := range slices.Sorted(maps.Keys(object)) { // sorted, so that the same mistake is always reported first
		if err := e.set(name, object[name]); err != nil {
			return nil, &MemberError{name, err}
		}
	}
	switch needs := errors.New("an error needs the members type and status"); {
	case e.Type == "":
		return nil, &MemberError{"type", needs}
	case e.Status == 0:
		return nil, &MemberError{"status", needs}
	}
	return e, nil
}

// MemberError names the member of an object that keeps it from being an error.
type MemberError struct {
	Name string
	Err  error
}

// Error describes the mistake.
func (e *MemberError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e *MemberError) Unwrap() error { return e.Err }

func (e *Error) set(name string, member any) error {
	text := map[string]*string{"type": &e.Type, "title": &e.Title, "detail": &e.Detail, "instance": &e.Instance}[name]
	switch {
	case name == "status":
		status, ok := wholeNumber(member)
		if !ok {
			return fmt.Errorf("an error's status must be a whole number, got %s", excerpt(member))
		}
		e.Status = status
	case text != nil && member == nil:
	case text != nil:
		s, ok := member.(string)
		if !ok {
			return fmt.Errorf("an error's %s must be text, got %s", name, excerpt(member))
		}
		*text = s
	default:
		if e.Extensions == nil {
			e.Extensions = map[string]any{}
		}
		e.Extensions[name] = member
	}
	return nil
}

// excerpt returns the beginning of a value as JSON.
func excerpt(v any) string {
	const most = 100
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprintf("a %T", v)
	}
	return shorten.To(strings.TrimSpace(b.String()), most)
}

func wholeNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case float64:
		return int(n), n == float64(int(n))
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}

// MarshalJSON writes e as application/problem+json.
func (e *Error) MarshalJSON() ([]byte, error) { return json.Marshal(e.Value()) }

// UnmarshalJSON reads the output of MarshalJSON.
func (e *Error) UnmarshalJSON(data []byte) error {
	v, err := jsonvalue.Decode(data)
	if err != nil {
		return err
	}
	read, err := FromValue(v)
	if err != nil {
		return err
	}
	*e = *read
	return nil
}

// New returns an error that a workflow cannot catch, as the standard library's New does.
func New(text string) error { return errors.New(text) }

// Is is the standard library's Is.
func Is(err, target error) bool { return errors.Is(err, target) }

// As is the standard library's As.
func As(err error, target any) bool { return errors.As(err, target) }

// Join is the standard library's Join.
func Join(errs ...error) error { return errors.Join(errs...) }

// Unwrap is the standard library's Unwrap.
func Unwrap(err error) error { return errors.Unwrap(err) }

// AsError returns the workflow error in err's chain, or nil.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
