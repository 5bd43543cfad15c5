package dsl

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// Timeout bounds a scope. It is a definition or the name of a definition.
type Timeout struct {
	Pointer Pointer
	Use     Reference // in use.timeouts
	After   *Duration
}

// timeoutWithoutAfter reports a timeout that is only a duration, without `after`, and decodes it. It returns nil for other
// timeouts.
func (p *parser) timeoutWithoutAfter(n *yaml.Node, at Pointer) *Timeout {
	d := Diagnostic{Code: "SW107", Message: "a timeout needs `after` around its duration", Pointer: at, Range: p.src.RangeOf(n)}
	switch {
	case source.IsNumber(n):
		d.Label = didYouMean(fmt.Sprintf("{ after: { seconds: %s } }", n.Value))
		d.Help = "a number alone says no unit"
		d.Fix = onlyIf(false, p.src.ReplaceRaw(n, fmt.Sprintf("{ %s: { %s: %s } }", p.src.Word("after"), p.src.Word("seconds"), n.Value)))
		p.add(d)
		return &Timeout{Pointer: at, After: &Duration{Pointer: at.Key("after"), broken: true}}
	case hasUnit(n):
		d.Label, d.Fix = "write it below `after`", p.src.Wrap(n, "after")
		p.add(d)
		after := p.inlineDuration(n, at)
		after.Pointer = at
		return &Timeout{Pointer: at, After: after}
	}
	return nil
}

// hasUnit reports whether an object looks like a duration: one of its keys is a unit, or resembles one.
func hasUnit(n *yaml.Node) bool {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; slices.Contains(unitNames(), key) || otherKeyFor(key, unitNames()) != "" {
			return true
		}
	}
	return false
}

// durationForName completes d, which is about a name that no timeout has, if the name is a duration.
func (s *Source) durationForName(d Diagnostic, name string) (Diagnostic, bool) {
	_, n, exact := s.find(d.Pointer)
	meant := meantDuration(name)
	if meant == "" || !exact {
		return d, false
	}
	d.Message = fmt.Sprintf("`%s` is a duration, and text here is the name of a timeout", name)
	d.Label = didYouMean(fmt.Sprintf("{ after: %s }", meant))
	d.Help = "name timeouts under use.timeouts, or write the timeout here"
	d.Fix = s.ReplaceRaw(n, fmt.Sprintf("{ %s: %s }", s.Word("after"), s.Word(meant)))
	return d, true
}

func (p *parser) timeout(parent *object) *Timeout {
	n := parent.value("timeout")
	if n == nil {
		return nil
	}
	at := parent.at.Key("timeout")
	if source.IsText(n) {
		return &Timeout{Pointer: at, Use: parent.reference("timeout", "timeouts")}
	}
	return p.timeoutDefinition(n, at)
}

func (p *parser) timeoutDefinition(n *yaml.Node, at Pointer) *Timeout {
	if t := p.timeoutWithoutAfter(n, at); t != nil {
		return t
	}
	o := p.object(n, at, "a timeout", "after")
	o.require("after")
	t := &Timeout{Pointer: at, After: o.duration("after")}
	if t.After == nil {
		t.After = &Duration{Pointer: at.Key("after")}
	}
	return t
}

// TimeoutAfter returns the duration of a timeout, or of the timeout in use.timeouts that it names; nil if there is no timeout.
func (w *Workflow) TimeoutAfter(t *Timeout) *Duration {
	if t != nil && t.Use.Name != "" {
		t = w.Use.Timeouts[t.Use.Name]
	}
	if t == nil {
		return nil
	}
	return t.After
}
