package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/form"
)

// Unreadable is a run of which something cannot be read. The refusal is Newer if a newer build has written it: then the run stays as and where it is.
// Otherwise it is Corrupt, and the run is put where nothing is ever due.
type Unreadable struct {
	Instance Instance
	Err      error
}

// Tell passes the unreadable run to the callback, if there is one.
func (u Unreadable) Tell(whom func(Unreadable)) {
	if whom != nil {
		whom(u)
	}
}

// CheckForms reports whether a newer build has written something of the run, or of its inbox: then this one must not work on it.
func (l *Loaded) CheckForms(inbox []Message) error {
	check := func(what string, data []byte, known form.Form) error {
		if is := form.Of(data); is > known {
			return &form.NewerError{What: what, Form: is, Known: known}
		}
		return nil
	}
	err := cmp.Or(l.Newer, check("the invocation", l.Invocation, form.Invocation), check("the head", l.State.Head, form.State))
	for _, frame := range l.State.Frames {
		err = cmp.Or(err, check("a frame", frame, form.State))
	}
	for _, message := range inbox {
		err = cmp.Or(err, check("a message", message, form.Message))
	}
	return err
}

// CheckHead reports whether a run that began lacks the head of its state. Without it the run would start over.
func (l *Loaded) CheckHead() error {
	if l.State.Head == nil && len(l.State.Frames) > 0 {
		return errors.New("the head of its state is missing")
	}
	return nil
}

// CheckInvocation reports why it cannot be read how the run was started.
func (l *Loaded) CheckInvocation() error {
	return checkPart("the invocation", form.Invocation, l.Invocation)
}

// CheckState reports why the state of the run cannot be read, as far as that shows without its workflow.
func (l *Loaded) CheckState() error {
	err := cmp.Or(l.Newer, l.CheckHead())
	if err == nil && l.State.Head != nil {
		err = checkPart("the head", form.State, l.State.Head)
	}
	if err == nil && l.State.Context != nil && !json.Valid(l.State.Context) {
		err = errors.New("the context is damaged")
	}
	for _, frame := range l.State.Frames {
		err = cmp.Or(err, checkPart("a frame", form.State, frame))
	}
	return err
}

// checkPart reports why a part is no object of a form that this build knows.
func checkPart(what string, known form.Form, data []byte) error {
	if err := form.Check(what, form.Of(data), known); err != nil {
		return err
	}
	if !json.Valid(data) {
		return fmt.Errorf("%s is damaged", what)
	}
	return nil
}

// Size returns how many bytes the invocation and the state of the run have.
func (l *Loaded) Size() int {
	n := len(l.Invocation) + len(l.State.Head) + len(l.State.Context)
	for _, frame := range l.State.Frames {
		n += len(frame)
	}
	return n
}

// CheckHistory returns an error if entries of a run's history are missing: n entries were requested from a position on, and read entries
// were returned.
func (r *Lifecycle) CheckHistory(i Instance, from, n, read int) error {
	if read >= min(n, int(r.Entries)-from) {
		return nil
	}
	return RefuseUnreadable("run "+i.String(), fmt.Errorf("its history has %d entries instead of %d", from+read, r.Entries), time.Time{})
}
