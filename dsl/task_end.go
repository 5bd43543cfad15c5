package dsl

import "gopkg.in/yaml.v3"

// endsByProperty reports `end: true`, which older versions of the DSL had for `then: end`.
func (p *parser) endsByProperty(n *yaml.Node, at Pointer) bool {
	key, value := child(n, "end")
	if key == nil || value.Kind != yaml.ScalarNode || scalarTypeOf(value) != boolScalar {
		return false
	}
	d := Diagnostic{
		Code: "SW106", Message: "`end` is no property of a task", Pointer: at.Key("end"), Range: p.src.span(key),
		Help: "the last task of the list ends the workflow by itself; leave `end` out",
	}
	if value.Value[0] == 't' || value.Value[0] == 'T' {
		d.Label, d.Help = didYouMean("then: end"), "a workflow also ends by itself after its last task"
		if then, _ := child(n, "then"); then == nil {
			d.Fix = append(p.src.respelt(key, "then"), p.src.replaced(value, p.src.key("end"))...)
		}
	}
	p.add(d)
	return true
}
