// Package form numbers the forms of stored data. Each stored object contains the number of its form, so that a build of swrun reads the forms that it
// knows, and does not touch data of a newer build (docs/decisions/0059).
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Form is the number of a form. The forms of one kind of data are numbered from 1.
type Form int

// The forms that this build writes. A change of the stored data of a kind adds 1 to its number.
const (
	Record     Form = 2 // the record of a run, store.Lifecycle
	Invocation Form = 3 // the fixed data of a run's start; 3 adds the run whose events have led to it
	State      Form = 3 // the head and the frames of a run, and its context; 3 adds the called address of a try that waits for its next attempt
	History    Form = 1 // a step of a history
	Message    Form = 2 // an entry of a run's inbox; 2 adds the task of an outside worker's report
	Outgoing   Form = 3 // an entry of a run's outbox; 2 adds the namespace of some emitted events, 3 the namespace of all emitted events and their cause
	Activity   Form = 2 // an activity of an outside worker
	Definition Form = 2 // a deployed document with its resources; 2 adds the bases of relative references in redirected ones
)

// member is the first member of each stored JSON object: its form.
const member = "#"

const opening = `{"` + member + `":`

// NewerError reports data in a form that this build does not know.
type NewerError struct {
	What        string
	Form, Known Form
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has the form %d of a newer swrun, and this one knows forms up to %d: use the newer version", e.What, e.Form, e.Known)
}

// IsNewer reports whether an error is about data of a newer build.
func IsNewer(err error) bool { return errors.As(err, new(*NewerError)) }

// Check returns an error if a build that knows forms up to known cannot read data in a form.
func Check(what string, is, known Form) error {
	switch {
	case is > known:
		return &NewerError{What: what, Form: is, Known: known}
	case is < 1:
		return fmt.Errorf("%s has no number of its form", what)
	}
	return nil
}

// Parse parses the number of a form.
func Parse(text string) (Form, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%.20q is not the number of a form", text)
	}
	return Form(n), nil
}

// Marshal encodes a value, which must be an object in JSON, in a form.
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
	if data[len(b)] = ','; data[len(b)+1] == '}' { // the object has no other members
		data = append(data[:len(b)], '}')
	}
	return data, nil
}

// Of returns the form of a stored object; 0 if the object does not contain it.
func Of(data []byte) Form {
	rest, ok := bytes.CutPrefix(data, []byte(opening))
	if !ok {
		return 0
	}
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0
	}
	f, _ := Parse(string(rest[:end])) // any other text is no form
	return f
}

// Unmarshal decodes the result of Marshal in a form up to known; what is its name in errors.
func Unmarshal(what string, known Form, data []byte, into any) error {
	if err := Check(what, Of(data), known); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Member returns the name of the member that contains the form of an object.
func Member() string { return member }
