package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
)

// KindRaise is the kind of RaiseTask.
const KindRaise Kind = "raise"

// RaiseTask raises an error.
type RaiseTask struct {
	TaskBase
	Use   Value            // text: a name in use.errors, or a ${ } expression that yields an error
	Error *ErrorDefinition // nil if Use is set
}

// Kind returns KindRaise.
func (*RaiseTask) Kind() Kind { return KindRaise }

// Traits: the error of an expression is not known before a run.
func (t *RaiseTask) Traits() Traits { return Traits{AnyErrors: delimited.Is(t.Use.Text())} }

func (t *RaiseTask) parts(w *walker) {
	w.value(propertyRaise, t.Use)
	w.reference(t.Reference())
	w.error(t.Error)
}

// Reference returns the name in use.errors. It is empty or an expression if the task does not name an error there.
func (t *RaiseTask) Reference() Reference { return Reference{t.Use.Pointer, "errors", t.Use.Text()} }

func (*RaiseTask) mayComplete(*checker) bool { return false }

func parseRaise(p *parser, o *object, base TaskBase) Task {
	t := &RaiseTask{TaskBase: base}
	cause, _ := source.Child(o.value("raise"), "Cause")
	if right, _ := source.Child(o.value("raise"), "error"); cause != nil && right == nil {
		p.reportCause(cause, o.at.Key("raise"))
		t.Error = &ErrorDefinition{Pointer: o.at.Key("raise").Key("error")}
		return t
	}
	r := p.object(o.value("raise"), o.at.Key("raise"), "`raise`", "error")
	r.require("error")
	switch n := r.value("error"); {
	case n == nil:
		t.Error = &ErrorDefinition{Pointer: r.at.Key("error")}
	case source.IsText(n):
		t.Use = r.textValue("error")
	default:
		t.Error = p.errorDefinition(n, r.at.Key("error"))
	}
	return t
}

// reportCause reports an error as Step Functions write it, with `Error` and `Cause`: one mistake of two properties.
func (p *parser) reportCause(cause *yaml.Node, raise Pointer) {
	p.add(Diagnostic{Code: "SW106", Message: "`Cause` is not a property of `raise`", Pointer: raise.Key(cause.Value), Range: p.src.RangeOf(cause),
		Help: "write `error: { type: https://example.com/errors/NAME, status: 500, detail: ... }` in the place of `Error` and `Cause`"})
}
