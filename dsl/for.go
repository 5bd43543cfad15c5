package dsl

import (
	"fmt"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/duration"
)

// KindFor is the kind of ForTask.
const KindFor Kind = "for"

// ForTask runs a list of tasks once for every item of a collection.
type ForTask struct {
	TaskBase
	Each  string // variable that contains the item, default item, without $
	At    string // variable that contains the position, default index, without $
	In    Value  // an expression, or a list that contains expressions
	While Expression
	Do    TaskList
}

// Kind returns KindFor.
func (*ForTask) Kind() Kind { return KindFor }

func (t *ForTask) binds() []string { return []string{t.Each, t.At} }

func (t *ForTask) parts(w *walker) {
	w.value(propertyForIn, t.In)
	outer := w.bind(t.binds())
	w.expression(propertyWhile, t.While)
	w.list(t, t.Do)
	w.variables = outer
}

func (t *ForTask) minDuration(c *checker) time.Duration {
	items, inline := t.In.Data.([]any)
	if !inline || t.While.Text != "" || c.mayEnd(t) {
		return 0
	}
	return min(duration.Max/time.Duration(max(1, len(items))), c.minDurationOfList(t.Do)) * time.Duration(len(items))
}

// inElsewhere returns how to write a number of repetitions in the place of items. It is "" for anything else.
func inElsewhere(n *yaml.Node) string {
	if source.IsNumber(n) {
		return fmt.Sprintf("write `in: '${ [range(%s)] }'` to count", oneLine(n.Value))
	}
	return ""
}

func parseFor(p *parser, o *object, base TaskBase) Task {
	t := &ForTask{TaskBase: base, Each: "item", At: "index", While: o.expression("while"), Do: o.tasks("do")}
	f := p.object(o.value("for"), o.at.Key("for"), "`for`", "each", "in", "at", "?do", "?while")
	o.reportTooDeep(f, "do", "while")
	if f.key("steps") != nil || f.key("tasks") != nil { // reported
		o.markPresent("do")
	}
	o.require("do")
	f.require("in")
	t.Each, t.At = f.variable("each", "item"), f.variable("at", "index")
	f.idleValue("in", "`in` is empty, so nothing runs", "write the items, or an expression that yields them, or remove the task")
	switch n := f.value("in"); {
	case n == nil:
	case n.Kind == yaml.SequenceNode || source.IsText(n):
		t.In = f.valueOf("in", f.dataOrText("in"), FormTransform)
	default:
		p.wrongType(n, f.at.Key("in"), "`in`", expressionOrList)
		p.helpBetter(inElsewhere(n))
	}
	return t
}
