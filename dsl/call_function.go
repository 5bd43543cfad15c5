package dsl

import "strings"

// KindCallFunction is the kind of CallFunction.
const KindCallFunction Kind = "call_function"

// CallFunction calls a function of use.functions or of a catalog.
type CallFunction struct {
	TaskBase
	Function string // name, name:version@catalog, or URI
	With     Value
}

// Kind returns KindCallFunction.
func (*CallFunction) Kind() Kind { return KindCallFunction }

// Traits: it runs a function.
func (t *CallFunction) Traits() Traits {
	return Traits{Group: "call", Function: t.Function, SendsInput: true}
}

func (t *CallFunction) parts(w *walker) {
	w.value(propertyCall, t.With)
	w.reference(t.Reference())
}

// Reference returns the name that the call refers to: a function under use, or a catalog there (semantics 12.1). It is empty for a function of a URI
// or of the default catalog.
func (t *CallFunction) Reference() Reference {
	i, at := strings.LastIndexByte(t.Function, '@'), t.Pointer.Key("call")
	switch {
	case !t.IsRemote():
		return Reference{at, "functions", t.Function}
	case i >= 0 && !strings.Contains(t.Function, "/") && t.Function[i+1:] != "default":
		return Reference{at, "catalogs", t.Function[i+1:]}
	}
	return Reference{Pointer: at}
}

// names returns the name of the function, for rules about the text of names.
func (t *CallFunction) names() []Value {
	return []Value{{t.Pointer.Key("call"), t.Function, FormData}}
}

// IsRemote reports whether the function comes from a catalog or a URI, not from use.functions.
func (t *CallFunction) IsRemote() bool { return strings.ContainsAny(t.Function, "@:/") }

// CallsElsewhere reports whether a task of w calls a function of a catalog or a URI.
func CallsElsewhere(w *Workflow) (found bool) {
	Walk(w, func(t Task) bool {
		call, ok := t.(*CallFunction)
		found = found || ok && call.IsRemote()
		return !found
	})
	return found
}

func parseCallFunction(_ *parser, o *object, base TaskBase) Task {
	return &CallFunction{TaskBase: base, Function: o.text("call"), With: o.mappingValue("with")}
}
