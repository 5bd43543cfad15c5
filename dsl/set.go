package dsl

import "gopkg.in/yaml.v3"

// SetTask replaces the data.
type SetTask struct {
	TaskBase
	Set any // an object whose ${ } strings are evaluated, or a string (Expression)
}

// Kind returns KindSet.
func (*SetTask) Kind() Kind { return KindSet }

func parseSet(p *parser, o *object, base TaskBase) Task {
	t := &SetTask{TaskBase: base, Set: map[string]any{}}
	n := o.value("set")
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		o.report("SW107", "set", "`set` needs at least one property")
	case n.Kind == yaml.MappingNode || isText(n):
		t.Set = o.dataOrText("set")
	default:
		p.wrongType(n, o.at.Key("set"), "`set` must be an object or an expression")
	}
	return t
}
