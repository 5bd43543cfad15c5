package dsl

import (
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// KindEmit is the kind of EmitTask.
const KindEmit Kind = "emit"

// EmitTask publishes an event.
type EmitTask struct {
	TaskBase
	With Value // an object of CloudEvents attributes and data
}

// Kind returns KindEmit.
func (*EmitTask) Kind() Kind { return KindEmit }

// Traits: an event changes something outside.
func (*EmitTask) Traits() Traits { return Traits{Instant: true, ChangesOutside: true} }

func (t *EmitTask) parts(w *walker) { w.value(propertyEmit, t.With) }

func parseEmit(p *parser, o *object, base TaskBase) Task {
	e := p.object(o.value("emit"), o.at.Key("emit"), "`emit`", "event")
	e.require("event")
	t := &EmitTask{TaskBase: base}
	if n := e.value("event"); n != nil {
		event := p.openObject(n, e.at.Key("event"), "an event to emit", "with")
		event.require("with")
		t.With = event.valueOf("with", event.eventProperties("with"), FormData)
		if with := event.value("with"); with != nil {
			attributes := p.object(with, event.at.Key("with"), "the event's `with`")
			attributes.require("type")
			attributes.checkTime()
		}
	}
	return t
}

// checkTime reports a literal `time` of an event that is not a date and time.
func (o *object) checkTime() {
	n := o.value("time")
	if n == nil || !source.IsText(n) || delimited.Is(n.Value) || strings.TrimSpace(n.Value) == "" {
		return
	}
	if _, err := time.Parse(time.RFC3339, n.Value); err != nil {
		o.report("SW109", "time", fmt.Sprintf("`time` must be a date and time such as 2026-01-31T12:00:00Z, got %s", shorten.Quoted(n.Value)))
	}
}
