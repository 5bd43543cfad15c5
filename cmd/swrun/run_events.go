package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// This file reads the events of --event.

const eventHint = `an event is {"type": "order.paid", "data": {...}}, or {"after": "PT5M", "event": {...}}; a file holds one, a list, or one after the other`

// runEvents are the events that reach a run.
type runEvents struct {
	bounds   limits.Set // of their sizes
	arrivals []swrun.Arrival
	live     chan swrun.Arrival    // from standard input; nil without it
	failed   atomic.Pointer[error] // the reason why live ended early, or nil
}

// readEvents reads the events of files. Events of standard input are read while the run is in progress, unless its clock is virtual.
func (j *job) readEvents(bounds limits.Set) (*runEvents, error) {
	p, virtual := j.program, j.virtual()
	if len(j.flags.events) > 0 && !listens(j.document.Workflow) && !j.startedByEvents() {
		return nil, usagef("leave --event out", "no task of %s listens for events", title(j.document))
	}
	e := &runEvents{bounds: bounds}
	for _, file := range j.flags.events {
		var r *cloudevent.Reader
		switch {
		case file == "-" && p.inTTY:
			return nil, usagef("pipe something into swrun, or name a file", "--event - reads standard input, which is a terminal")
		case file == "-" && !virtual:
			e.live = make(chan swrun.Arrival)
			go e.follow(cloudevent.NewReader(p.in, "standard input"))
			continue
		case file == "-":
			r = cloudevent.NewReader(p.in, "standard input")
		default:
			var err error
			if r, err = eventFile(file); err != nil {
				return nil, err
			}
		}
		if err := e.readAll(r); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// eventFile returns a reader of a file of JSON or YAML.
func eventFile(file string) (*cloudevent.Reader, error) {
	text, err := readFile("the events", file, bound{bytes: maxEvents})
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if extension := strings.ToLower(filepath.Ext(file)); extension != ".yaml" && extension != ".yml" {
		if len(bytes.TrimSpace(text)) == 0 {
			return nil, usagef(eventHint, "%s is empty", file)
		}
		return cloudevent.NewReader(bytes.NewReader(text), file), nil
	}
	v, err := decodeData(file, text)
	if err != nil {
		return nil, usagef(eventHint, "%s cannot be read: %s", file, err)
	}
	return cloudevent.NewValueReader(v, file), nil
}

func (e *runEvents) readAll(r *cloudevent.Reader) error {
	r.Further = e.checkSize
	for {
		arrival, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return usagef(eventHint, "%s", err)
		}
		e.arrivals = append(e.arrivals, swrun.Arrival(arrival))
	}
}

// checkSize returns an error if an event is too large for a run.
func (e *runEvents) checkSize(event map[string]any) error {
	fault := errors.AsError(interpreter.CheckEvent(event, e.bounds))
	if fault == nil {
		return nil
	}
	return errors.New(fault.Detail)
}

// follow passes on the events of a stream until it ends.
func (e *runEvents) follow(r *cloudevent.Reader) {
	defer close(e.live)
	r.Further = e.checkSize
	for {
		arrival, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				failed := usagef(eventHint, "%s", err)
				e.failed.Store(&failed)
			}
			return
		}
		e.live <- swrun.Arrival(arrival)
	}
}

// listens reports whether any task of w waits for events.
func listens(w *dsl.Workflow) (found bool) {
	dsl.Walk(w, func(t dsl.Task) bool {
		found = found || t.Kind() == dsl.KindListen
		return !found
	})
	return found
}

// noEventLeft is the failure of a run that listens when no event is left, or of a schedule that waits for one: it names the waiting task or schedule.
func (j *job) noEventLeft(who string, e *swrun.ListeningError) error {
	var b strings.Builder
	fmt.Fprintf(&b, "no event is left, and %s:", who)
	for _, task := range e.Tasks {
		fmt.Fprintf(&b, "\n  %s%s consumed %d, and waits for an event that passes", task.Pointer, j.placeOf(j.document.Workflow.Source.Key(task.Origin)), task.Consumed)
		for n, filter := range task.Missing {
			fmt.Fprintf(&b, "%s %s%s", map[bool]string{true: " or"}[n > 0], filter, j.place(filter))
		}
	}
	for n, u := range e.Unmatched {
		if n == maxUnmatched {
			fmt.Fprintf(&b, "\n  and %d more events that no task consumed", len(e.Unmatched)-n)
			break
		}
		fmt.Fprintf(&b, "\n  no task consumed %s (id %s)", u.Event["type"], u.Event["id"])
		switch {
		case u.Repeated:
			b.WriteString(": an event with this source and id arrived before")
		case len(u.Refusals) == 0:
			b.WriteString(": no task listened when it arrived")
		}
		for _, r := range u.Refusals {
			fmt.Fprintf(&b, "\n    %s%s: %s: %s", r.Filter, j.place(r.Filter), r.Attribute, r.Why)
		}
	}
	return &exitError{code: exitWaited, message: j.mask.Text(b.String()), hint: "add events with --event FILE, or --event - for standard input; a timeout ends a listen task without events"}
}

// maxUnmatched is the maximum number of unconsumed events in a message.
const maxUnmatched = 20

// place returns the place of a filter, for messages.
func (j *job) place(filter dsl.Pointer) string {
	return j.placeOf(j.document.Workflow.Source.Value(filter))
}

func (j *job) placeOf(r source.Range) string {
	return fmt.Sprintf(" (%s:%d)", j.document.Workflow.Source.File, r.Start.Line)
}
