package dsl

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// EventStrategy specifies the events to consume. Exactly one of All, Any, One is present.
type EventStrategy struct {
	Pointer    Pointer
	All        []*EventFilter
	Any        []*EventFilter
	One        *EventFilter
	Mode       string // all, any or one
	Until      Expression
	UntilEvent *EventStrategy
}

// EventFilter matches events by attribute and correlates them.
type EventFilter struct {
	Pointer   Pointer
	With      Value
	Correlate map[string]Correlation
}

// Correlation ties a value of an event to a value of the instance.
type Correlation struct {
	From   Expression // or the bare name of an attribute
	Expect Expression // or a literal
}

// Iterator handles consumed events or messages one by one.
type Iterator struct {
	Pointer Pointer
	Item    string // default item
	At      string // default index
	Do      TaskList
	Output  *Output
	Export  *Export
}

// strategy decodes the events to consume; a strategy inside `until` must not have an until of its own.
func (o *object) strategy(name string, inUntil bool) *EventStrategy {
	n := o.value(name)
	if n == nil {
		return nil
	}
	properties := []string{"all", "any", "one", "until"}
	if !inUntil {
		properties = append(properties, "?read")
	}
	s := o.p.object(n, o.at.Key(name), fmt.Sprintf("`%s`", name), properties...)
	if !inUntil {
		o.reportTooDeep(s, "read")
	}
	e := &EventStrategy{Pointer: s.at, Mode: s.exactlyOne("all", "any", "one")}
	if name != "on" { // SW704
		s.idleValue("all", "`all` is empty, so it waits for no event", "write the events that must come, each as `- with: { type: ... }`; `any: []` takes every event")
	}
	e.All, e.Any = s.filters("all"), s.filters("any")
	if one := s.value("one"); one != nil {
		e.One = o.p.filter(one, s.at.Key("one"))
	}
	until := s.value("until")
	switch {
	case until == nil:
	case inUntil && until.Kind == yaml.ScalarNode && source.Data(until) == false: // allowed by the schema
	case inUntil:
		s.report("SW124", "until", "a strategy inside `until` has no `until` of its own")
	case e.Mode == "": // reported
	case e.Mode != "any":
		s.report("SW124", "until", "`until` goes with `any` only")
	case source.IsText(until) && meantDuration(until.Value) != "":
		s.reportWith("SW108", "until", fmt.Sprintf("`until` is a condition or an event, got the duration %s", shorten.Quoted(until.Value)),
			fmt.Sprintf("write `timeout: { after: %s }` beside `listen`", meantDuration(until.Value)))
	case source.IsText(until):
		e.Until = s.expression("until")
	default:
		e.UntilEvent = s.strategy("until", true)
	}
	return e
}

func (o *object) filters(name string) []*EventFilter {
	if o.value(name) == nil {
		return nil
	}
	filters := []*EventFilter{}
	for i, n := range o.list(name) {
		filters = append(filters, o.p.filter(n, o.at.Key(name).Index(i)))
	}
	return filters
}

func (p *parser) filter(n *yaml.Node, at Pointer) *EventFilter {
	o := p.object(n, at, "an event filter", "with", "correlate")
	o.require("with")
	f := &EventFilter{Pointer: at, With: o.valueOf("with", o.eventProperties("with"), FormData)}
	if with := o.value("with"); with != nil && with.Kind == yaml.MappingNode && len(with.Content) == 0 {
		o.reportWith("SW107", "with", "an event filter needs at least one attribute", "name one that the event must have, such as `type: com.example.ordered`; `any: []` takes every event")
	}
	p.reportNullAttributes(o.value("with"), o.at.Key("with"))
	o.idleValue("correlate", "`correlate` is empty, so it does nothing", "write each value that ties events together as `name: { from: .data.id }`, or remove it")
	for _, e := range o.entries("correlate") {
		c := p.openObject(e.value, e.at, "a correlation", "from", "expect")
		c.require("from")
		if f.Correlate == nil {
			f.Correlate = map[string]Correlation{}
		}
		f.Correlate[e.key.Value] = Correlation{From: c.expression("from"), Expect: c.expression("expect")}
	}
	return f
}

// reportNullAttributes reports the attributes of a filter that are null: no event has such an attribute. Data may be null.
func (p *parser) reportNullAttributes(with *yaml.Node, at Pointer) {
	for i := 0; with != nil && with.Kind == yaml.MappingNode && i+1 < len(with.Content); i += 2 {
		if key := with.Content[i]; key.Value != "data" && source.IsNull(with.Content[i+1]) {
			p.add(Diagnostic{Code: "SW131", Message: fmt.Sprintf("`%s` has no value, so no event passes the filter", oneLine(key.Value)), Pointer: at.Key(key.Value),
				Range: p.src.RangeOf(key), Help: "write the value that the events have, or remove the attribute"})
		}
	}
}

// IsAttribute reports whether `from` of a correlation is the bare name of an attribute.
func (c Correlation) IsAttribute() bool { return bareAttribute().MatchString(c.From.Text) }

// ExpectsExpression reports whether `expect` of a correlation is an expression on the task's input, and not a literal.
func (c Correlation) ExpectsExpression() bool {
	expect := strings.TrimSpace(c.Expect.Text)
	return strings.HasPrefix(expect, ".") || strings.HasPrefix(expect, "$")
}

// bareAttribute matches the bare name of an event's attribute, which may replace an expression (semantics 14.7).
var bareAttribute = lazyregexp.New(`^\s*[a-z][a-z0-9]*\s*$`)

// eventProperties decodes the attributes and data of an event.
func (o *object) eventProperties(name string) map[string]any {
	n := o.value(name)
	if n == nil {
		return nil
	}
	e := o.p.object(n, o.at.Key(name), "an event")
	o.p.reportBlankKeys(e.node, e.at, "the name of an event's attribute")
	for _, attribute := range []string{"id", "type", "time", "subject", "datacontenttype"} {
		e.text(attribute)
	}
	for _, attribute := range []string{"source", "dataschema"} {
		if uri := e.value(attribute); uri != nil {
			o.p.uri(uri, e.at.Key(attribute), attribute)
		}
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	return o.mapping(name)
}

// iterator decodes the handling of consumed items.
func (o *object) iterator(name string) *Iterator {
	n := o.value(name)
	if n == nil {
		return nil
	}
	i := o.p.object(n, o.at.Key(name), fmt.Sprintf("`%s`", name), "item", "at", "do", "output", "export")
	i.idleWithout("`foreach` without `do`, `output` and `export` does nothing", "write the tasks for each item below `do`, or remove `foreach`", "do", "output", "export")
	return &Iterator{
		Pointer: i.at, Item: i.variable("item", "item"), At: i.variable("at", "index"), Do: i.tasks("do"),
		Output: o.p.output(i), Export: o.p.export(i),
	}
}

// Filters returns all filters of a strategy, without the filters of its until.
func (s *EventStrategy) Filters() []*EventFilter {
	switch {
	case s.One != nil:
		return []*EventFilter{s.One}
	case s.All != nil:
		return s.All
	}
	return s.Any
}

func (f *EventFilter) has(key string) bool {
	_, has := f.Correlate[key]
	return has
}
