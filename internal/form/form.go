// Package form numbers the forms in which things are stored. Each stored thing carries the number of the form that it was written in, so that
// a build of swrun reads what it knows, and leaves alone what a newer build has written (docs/decisions/0059).
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Form is the number of a form. Forms of one kind of thing follow one another; the first is 1.
type Form int

// The forms in which this build writes. Whoever changes what is stored of a kind adds 1 to its number.
const (
	Record     Form = 2 // the record of a run, store.Lifecycle
	Invocation Form = 3 // what is fixed when a run starts; 3 says which run's events have led to it
	State      Form = 3 // the head and the frames of a run, and its context; 3 says what a try has called that waits for its next attempt
	History    Form = 1 // a step of a history
	Message    Form = 2 // what comes into the inbox of a run; 2 says which task a report of an outside worker is about
	Outgoing   Form = 3 // what leaves a run by the outbox; 2 says in which namespace an event was emitted, among others, 3 says that of all and what has led to events
	Activity   Form = 2 // what an outside worker performs
	Definition Form = 2 // a deployed document with its resources; 2 says where relative references in redirected ones start
)

// member is the first member of each stored JSON object: its form.
const member = "#"

const opening = `{"` + member + `":`

// NewerError says that something was written in a form that this build does not know.
type NewerError struct {
	What        string
	Form, Known Form
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has the form %d of a newer swrun, and this one knows forms up to %d: use the newer version", e.What, e.Form, e.Known)
}

// IsNewer reports whether an error says that a newer build has written something.
func IsNewer(err error) bool { return errors.As(err, new(*NewerError)) }

// Check reports why something that was written in a form cannot be read by a build that knows forms up to known.
func Check(what string, is, known Form) error {
	switch {
	case is > known:
		return &NewerError{What: what, Form: is, Known: known}
	case is < 1:
		return fmt.Errorf("%s has no number of its form", what)
	}
	return nil
}

// Parse reads the number of a form.
func Parse(text string) (Form, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%.20q is not the number of a form", text)
	}
	return Form(n), nil
}

// Marshal writes a value, which must be an object in JSON, in a form.
func Marshal(f Form, v any) ([]byte, error) {
	b := strconv.AppendInt([]byte(opening), int64(f), 10)
	buffer := bytes.NewBuffer(b)
	if err := json.NewEncoder(buffer).Encode(v); err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(buffer.Bytes(), []byte{'\n'})
	if data[len(b)] != '{' {
		return nil, fmt.Errorf("a %T is no object in JSON", v)
	}
	if data[len(b)] = ','; data[len(b)+1] == '}' { // it has no other members
		data = append(data[:len(b)], '}')
	}
	return data, nil
}

// Of returns the form of a stored object; 0 if it does not say it.
func Of(data []byte) Form {
	rest, ok := bytes.CutPrefix(data, []byte(opening))
	if !ok {
		return 0
	}
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0
	}
	f, _ := Parse(string(rest[:end])) // anything else is no form
	return f
}

// Unmarshal reads what Marshal has written in a form up to known; what names it in errors.
func Unmarshal(what string, known Form, data []byte, into any) error {
	if err := Check(what, Of(data), known); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Member returns the name of the member that says the form of an object.
func Member() string { return member }
