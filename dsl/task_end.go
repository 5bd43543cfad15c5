package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// endsByProperty reports `end: true`, which older versions of the DSL had for `then: end`.
func (p *parser) endsByProperty(n *yaml.Node, at Pointer) bool {
	key, value := source.Child(n, "end")
	if key == nil || !source.IsBool(value) {
		return false
	}
	d := Diagnostic{
		Code: "SW106", Message: "`end` is not a property of a task", Pointer: at.Key("end"), Range: p.src.RangeOf(key),
		Help: "the last task of the list ends the workflow by itself; leave `end` out",
	}
	if value.Value[0] == 't' || value.Value[0] == 'T' {
		d.Label, d.Help = didYouMean("then: end"), "a workflow also ends by itself after its last task"
		if then, _ := source.Child(n, "then"); then == nil {
			d.Fix = append(p.src.Replace(key, "then"), p.src.ReplaceRaw(value, p.src.Word("end"))...)
		}
	}
	p.add(d)
	return true
}
