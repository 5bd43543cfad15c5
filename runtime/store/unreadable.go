package store

import (
	"cmp"

	"github.com/swrun/swrun/internal/form"
)

// Unreadable is a run of which something cannot be read. The refusal is Newer if a newer build has written it: then the run stays as and where it is.
// Otherwise it is Corrupt, and the run is put where nothing is ever due.
type Unreadable struct {
	Instance Instance
	Err      error
}

// Tell tells who wants to know which runs cannot be read.
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
