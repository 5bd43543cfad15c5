package dsl

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/attribute"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/lazyregexp"
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
			for _, name := range attributes.keys() {
				if name != "type" && nameOfAttribute(name) == "type" { // the misspelt name is reported
					attributes.markPresent("type")
				}
			}
			attributes.require("type")
			attributes.checkAttributes()
		}
	}
	return t
}

// attributesBesideWith reports an event whose attributes are not under `with`.
func (p *parser) attributesBesideWith(n *yaml.Node, at Pointer) bool {
	key, _ := source.Child(n, "type")
	if _, with := source.Child(n, "with"); key == nil || with != nil {
		return false
	}
	p.add(Diagnostic{Code: "SW107", Message: "the attributes of an event stand under `with`", Pointer: at, Range: p.src.RangeOf(key),
		Label: "move it into `with`", Help: "write `event: { with: { type: ..., source: ... } }`"})
	return true
}

// checkAttributes reports literal attributes that no event can have, by the rule that refuses the event when it is emitted.
func (o *object) checkAttributes() {
	event := o.literals()
	for i := 0; i+1 < len(o.node.Content); i += 2 {
		key, value := o.node.Content[i], o.node.Content[i+1]
		if _, is := event[key.Value]; !is || o.p.reported(o.at.Key(key.Value)) {
			continue
		}
		if err := attribute.Check(event, key.Value); err != nil {
			o.reportAttribute(key, value, err)
		}
	}
}

// literals returns the attributes and data of an event, without null attributes, which count as absent, and without attributes that expressions compute.
func (o *object) literals() map[string]any {
	event := map[string]any{}
	for i := 0; i+1 < len(o.node.Content); i += 2 {
		key, value := o.node.Content[i], o.node.Content[i+1]
		if data := source.Data(value); data != nil && !(source.IsText(value) && delimited.Is(value.Value)) && strings.TrimSpace(key.Value) != "" {
			event[key.Value] = data
		}
	}
	return event
}

func (o *object) reportAttribute(key, value *yaml.Node, err error) {
	d := Diagnostic{Code: "SW109", Message: err.Error(), Pointer: o.at.Key(key.Value), Range: o.p.src.RangeOf(value), Help: attributeHelp(key.Value)}
	switch {
	case !attribute.IsName(key.Value) && key.Value != "data_base64":
		d.Code, d.Range, d.Help = "SW112", o.p.src.RangeOf(key), "rename it, or move it into `data`, where every name is allowed"
		if meant := nameOfAttribute(key.Value); meant != "" {
			d.Label = didYouMean(meant)
		}
	case value.Kind != yaml.ScalarNode:
		d.Code, d.Help = "SW108", "move it into `data`, which may be of any type"
		if o.value("data") == nil && slices.Contains([]string{"payload", "body", "content"}, key.Value) { // properties of other tools
			d.Label = didYouMean("data")
		}
	case !source.IsText(value):
		d.Code = "SW108"
	}
	o.p.add(d)
}

// nameOfAttribute returns the name of an attribute that another text was probably meant to be, or "".
func nameOfAttribute(name string) string {
	if delimited.Is(name) {
		return ""
	}
	return letters().ReplaceAllString(strings.ToLower(name), "")
}

// letters matches characters that no name of an attribute contains.
var letters = lazyregexp.New(`[^a-z0-9]+`)

func attributeHelp(name string) string {
	return cmp.Or(map[string]string{
		"time":            "leave it out for the time of the event, or compute it: `time: '${ now | todate }'`",
		"specversion":     "leave it out: swrun emits events of CloudEvents 1.0",
		"datacontenttype": "leave it out for JSON, or write the type and the subtype: `datacontenttype: text/plain`",
		"dataschema":      "write the whole URI, such as https://example.com/schemas/order.json",
		"source":          "leave it out for the name of the workflow, or write a path or a URI: `source: /orders`",
		"data_base64":     "write `data` for what is no base64, or encode it: `data_base64: '${ .text | @base64 }'`",
	}[name], "move the text into `data`, where every character is allowed")
}
