package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// KindSet is the kind of SetTask.
const KindSet Kind = "set"

// SetTask replaces the data.
type SetTask struct {
	TaskBase
	Set Value // an expression, or an object that contains expressions
}

// Kind returns KindSet.
func (*SetTask) Kind() Kind { return KindSet }

// Traits: the task is done immediately.
func (*SetTask) Traits() Traits { return Traits{Instant: true} }

func (t *SetTask) parts(w *walker) { w.value(propertySet, t.Set) }

func parseSet(p *parser, o *object, base TaskBase) Task {
	t := &SetTask{TaskBase: base, Set: o.valueOf("set", map[string]any{}, FormTransform)}
	n := o.value("set")
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		o.reportWith("SW107", "set", "`set` needs at least one property", "write what it sets as `name: value`, or the expression '${ {} }' for an empty object")
	case n.Kind == yaml.MappingNode || source.IsText(n):
		t.Set = o.valueOf("set", o.dataOrText("set"), FormTransform)
	default:
		p.wrongType(n, o.at.Key("set"), "`set`", objectOrExpression)
	}
	return t
}
