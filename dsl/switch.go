package dsl

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// KindSwitch is the kind of SwitchTask.
const KindSwitch Kind = "switch"

// SwitchTask chooses where the flow continues.
type SwitchTask struct {
	TaskBase
	Cases []SwitchCase
}

// Kind returns KindSwitch.
func (*SwitchTask) Kind() Kind { return KindSwitch }

func (t *SwitchTask) parts(w *walker) {
	for _, one := range t.Cases {
		w.expression(propertyWhen, one.When)
	}
}

func (t *SwitchTask) jumps() (all []jump, exhaustive bool) {
	for _, one := range t.Cases {
		exhaustive = exhaustive || one.When.Text == ""
		all = append(all, jump{one.Pointer.Key("then"), one.Then})
	}
	return all, exhaustive
}

// SwitchCase is one case. Without When it is the default, at any position.
type SwitchCase struct {
	Pointer Pointer
	Name    string
	When    Expression
	Then    string
}

func parseSwitch(p *parser, o *object, base TaskBase) Task {
	t := &SwitchTask{TaskBase: base}
	if n := o.value("switch"); n.Kind == yaml.MappingNode && p.switchOnValue(n, o.at.Key("switch")) {
		return t
	}
	if n := o.value("switch"); n.Kind == yaml.MappingNode && len(n.Content) > 0 {
		p.mapForList(n, o.at.Key("switch"), "`switch` must be a list of cases", "case")
		for _, e := range o.entries("switch") {
			t.Cases = append(t.Cases, p.switchCase(e))
		}
		return t
	}
	if n := o.value("switch"); source.IsText(n) {
		p.switchOnText(o, n)
		return t
	}
	cases := o.list("switch")
	if n := o.value("switch"); n.Kind == yaml.SequenceNode && len(cases) == 0 {
		o.reportWith("SW107", "switch", "`switch` needs at least one case", "write each as `- name: { when: .x, then: NEXT }`")
	}
	for i, n := range cases {
		if e, ok := p.item(n, o.at.Key("switch").Index(i), listedCase()); ok {
			t.Cases = append(t.Cases, p.switchCase(e))
		}
	}
	return t
}

// switchOnValue reports a switch over a value, as in other languages.
func (p *parser) switchOnValue(n *yaml.Node, at Pointer) bool {
	for _, name := range []string{"cases", "choices", "Choices", "conditions", "branches", "dataConditions", "decisionCases"} {
		if key, _ := source.Child(n, name); key != nil {
			p.add(Diagnostic{Code: "SW113", Message: "`switch` must be a list of cases, each with a condition of its own", Pointer: at, Range: p.src.RangeOf(n.Content[0]),
				Help: "write `switch: [ red: { when: '.color == \"red\"', then: ... }, otherwise: { then: ... } ]`"})
			return true
		}
	}
	if on, value := source.Child(n, "on"); on != nil && source.IsText(value) {
		p.switchOn(n, at, value.Value)
		return true
	}
	return false
}

// switchOn reports a switch that compares a value with the names of its cases.
func (p *parser) switchOn(n *yaml.Node, at Pointer, value string) {
	p.add(Diagnostic{Code: "SW113", Message: "`switch` must be a list of cases, each with a condition of its own", Pointer: at, Range: p.src.RangeOf(n.Content[0]),
		Help: fmt.Sprintf("write `switch: [ red: { when: '%s == \"red\"', then: ... }, otherwise: { then: ... } ]`", oneLine(value))})
}

// switchOnText reports a switch with the value beside it that its cases compare.
func (p *parser) switchOnText(o *object, n *yaml.Node) {
	p.add(Diagnostic{Code: "SW108", Message: "`switch` must be a list of cases, each with a condition of its own, got text", Pointer: o.at.Key("switch"), Range: p.src.RangeOf(n),
		Help: fmt.Sprintf("write `switch: [ red: { when: '%s == \"red\"', then: ... }, otherwise: { then: ... } ]`", oneLine(n.Value))})
	p.found = slices.DeleteFunc(p.found, func(d Diagnostic) bool { return d.Pointer == o.at.Key("cases") || d.Pointer == o.at.Key("default") })
}

func (p *parser) switchCase(e entry) SwitchCase {
	c := p.object(e.value, e.at, "a case", "when", "then")
	c.require("then")
	return SwitchCase{Pointer: e.at, Name: e.key.Value, When: c.expression("when"), Then: c.text("then")}
}
