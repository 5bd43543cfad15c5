package dsl

import "gopkg.in/yaml.v3"

// ForTask runs a list of tasks once for every item of a collection.
type ForTask struct {
	TaskBase
	Each  string // variable that holds the item, default item, without $
	At    string // variable that holds the position, default index, without $
	In    any    // a string (Expression) or an inline array whose ${ } strings are evaluated
	While Expression
	Do    TaskList
}

// Kind returns KindFor.
func (*ForTask) Kind() Kind { return KindFor }

func parseFor(p *parser, o *object, base TaskBase) Task {
	t := &ForTask{TaskBase: base, Each: "item", At: "index", While: o.expression("while"), Do: o.tasks("do")}
	f := p.object(o.value("for"), o.at.Key("for"), "`for`", "each", "in", "at", "?do", "?while")
	o.beside(f, "do", "while")
	o.require("do")
	f.require("in")
	t.Each, t.At = f.variable("each", "item"), f.variable("at", "index")
	switch n := f.value("in"); {
	case n == nil:
	case n.Kind == yaml.SequenceNode || isText(n):
		t.In = f.dataOrText("in")
	default:
		p.wrongType(n, f.at.Key("in"), "`in` must be an expression or a list")
	}
	return t
}
