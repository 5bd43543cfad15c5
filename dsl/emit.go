package dsl

import (
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

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
	if n := e.value("event"); n != nil && !p.attributesBesideWith(n, e.at.Key("event")) {
		event := p.openObject(n, e.at.Key("event"), "an event to emit", "with")
		event.require("with")
		t.With = event.valueOf("with", event.eventProperties("with"), FormData)
		if with := event.value("with"); with != nil {
			attributes := p.object(with, event.at.Key("with"), "the event's `with`")
			for i := 0; i+1 < len(attributes.node.Content); i += 2 {
				attributes.reportBlank(attributes.node.Content[i], attributes.node.Content[i+1])
			}
			attributes.require("type")
			attributes.checkTime()
			attributes.dataElsewhere()
		}
	}
	return t
}

// attributesBesideWith reports an event whose attributes do not stand under `with`.
func (p *parser) attributesBesideWith(n *yaml.Node, at Pointer) bool {
	key, _ := source.Child(n, "type")
	if _, with := source.Child(n, "with"); key == nil || with != nil {
		return false
	}
	p.add(Diagnostic{Code: "SW107", Message: "the attributes of an event stand under `with`", Pointer: at, Range: p.src.RangeOf(key),
		Label: "move it into `with`", Help: "write `event: { with: { type: ..., source: ... } }`"})
	return true
}

// dataElsewhere reports an attribute that other tools have for the data of an event. It is valid, but an attribute holds one text or number.
func (o *object) dataElsewhere() {
	for _, name := range []string{"payload", "body", "content"} {
		if n := o.value(name); n != nil && n.Kind != yaml.ScalarNode && o.value("data") == nil {
			o.p.add(Diagnostic{Code: "SW128", Message: fmt.Sprintf("`%s` is an attribute like any other here", name), Pointer: o.at.Key(name), Range: o.p.src.RangeOf(o.key(name)),
				Label: didYouMean("data"), Help: "what an event is about stands under `data`"})
		}
	}
}

// checkTime reports a literal `time` of an event that is not a date and time.
func (o *object) checkTime() {
	n := o.value("time")
	if n == nil || !source.IsText(n) || delimited.Is(n.Value) || strings.TrimSpace(n.Value) == "" {
		return
	}
	if _, err := time.Parse(time.RFC3339, n.Value); err != nil {
		o.reportWith("SW109", "time", fmt.Sprintf("`time` must be a date and time such as 2026-01-31T12:00:00Z, got %s", shorten.Quoted(n.Value)), "leave it out for the time of the event, or compute it: `time: '${ now | todate }'`")
	}
}
