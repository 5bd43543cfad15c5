package dsl

// RaiseTask raises an error.
type RaiseTask struct {
	TaskBase
	Use   string           // name in use.errors, or a ${ } expression that yields an error object
	Error *ErrorDefinition // nil if Use is set
}

// Kind returns KindRaise.
func (*RaiseTask) Kind() Kind { return KindRaise }

func parseRaise(p *parser, o *object, base TaskBase) Task {
	t := &RaiseTask{TaskBase: base}
	r := p.object(o.value("raise"), o.at.Key("raise"), "`raise`", "error")
	r.require("error")
	switch n := r.value("error"); {
	case n == nil:
		t.Error = &ErrorDefinition{Pointer: r.at.Key("error")}
	case isText(n):
		t.Use = r.text("error")
	default:
		t.Error = p.errorDefinition(n, r.at.Key("error"))
	}
	return t
}
