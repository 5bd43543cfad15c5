package dsl

// CallFunction calls a function of use.functions or of a catalog.
type CallFunction struct {
	TaskBase
	Function string // name, name:version@catalog, or URI
	With     map[string]any
}

// Kind returns KindCallFunction.
func (*CallFunction) Kind() Kind { return KindCallFunction }

func parseCallFunction(_ *parser, o *object, base TaskBase) Task {
	return &CallFunction{TaskBase: base, Function: o.text("call"), With: o.mapping("with")}
}
