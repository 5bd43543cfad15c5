package dsl

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// protocolCall is a kind of call that uses a protocol, or a function of the default catalog that the engine itself performs.
type protocolCall struct {
	kind     Kind
	protocol string // the value of `call`
	parse    func(p *parser, arguments *object, base TaskBase) Task
}

// protocolCalls returns the kinds of calls except the call of a function, which is the kind of any other call.
func protocolCalls() []protocolCall {
	return []protocolCall{
		{KindCallA2A, "a2a", parseCallA2A},
		{KindCallActivity, "activity:1.0.0@default", parseCallActivity},
		{KindCallAsyncAPI, "asyncapi", parseCallAsyncAPI},
		{KindCallContinueAsNew, "continue-as-new:1.0.0@default", parseCallContinueAsNew},
		{KindCallGRPC, "grpc", parseCallGRPC},
		{KindCallHTTP, "http", parseCallHTTP},
		{KindCallMCP, "mcp", parseCallMCP},
		{KindCallOpenAPI, "openapi", parseCallOpenAPI},
	}
}

// callKinds returns all kinds of calls.
func callKinds() []Kind {
	kinds := []Kind{KindCallFunction}
	for _, call := range protocolCalls() {
		kinds = append(kinds, call.kind)
	}
	return kinds
}

// CallProtocols returns the value of `call` for each kind of call that uses a protocol.
func CallProtocols() []string {
	var names []string
	for _, call := range protocolCalls() {
		names = append(names, call.protocol)
	}
	return names
}

// CallProtocol returns the value of `call` for tasks of the kind; empty for a call of a function, and for a kind that is no call.
func (k Kind) CallProtocol() string {
	for _, call := range protocolCalls() {
		if call.kind == k {
			return call.protocol
		}
	}
	return ""
}

// parseCall decodes a call by the protocol that it names. Any other name is the name of a function.
func parseCall(p *parser, o *object, base TaskBase) Task {
	called, all := o.value("call").Value, protocolCalls() // parseCallFunction reports a value that is not text
	i := slices.IndexFunc(all, func(c protocolCall) bool { return c.protocol == called })
	if i < 0 {
		return parseCallFunction(p, o, base)
	}
	return all[i].decode(p, o, base)
}

// decode decodes a call of the protocol.
func (c protocolCall) decode(p *parser, o *object, base TaskBase) Task {
	required := c.kind != KindCallContinueAsNew
	if required {
		o.require("with")
	}
	with := o.value("with")
	if with == nil {
		return c.parse(p, &object{p: p, node: &yaml.Node{Kind: yaml.MappingNode}, at: o.at.Key("with"), broken: required}, base)
	}
	with = o.outputTooDeep(with)
	w := &object{p: p, node: with, at: o.at.Key("with"), what: fmt.Sprintf("`with` of `call: %s`", c.protocol)}
	if with.Kind != yaml.MappingNode {
		d := Diagnostic{Code: "SW108", Message: w.what + " must be an object, got " + source.Describe(with), Pointer: w.at, Range: p.src.RangeOf(with)}
		if d.Help = asObject(with, nil); with.Kind == yaml.SequenceNode {
			d.Help = "write its properties without hyphens, one below the other"
		}
		p.add(d)
		w.node, w.broken = &yaml.Node{Kind: yaml.MappingNode}, true
	}
	return c.parse(p, w, base)
}

// couldCall reports whether the task at a pointer has the arguments of a protocol.
func (s *Source) couldCall(protocol string, task Pointer) bool {
	_, n, exact := s.find(task)
	i := slices.IndexFunc(protocolCalls(), func(c protocolCall) bool { return c.protocol == protocol })
	if !exact || i < 0 {
		return false
	}
	p := newParser(s)
	protocolCalls()[i].decode(p, &object{p: p, node: n, at: task}, TaskBase{Pointer: task})
	return p.found.Err() == nil
}

// serverCall returns the traits of a call that a server answers.
func serverCall() Traits {
	return Traits{Group: "call", Unbounded: true, SendsInput: true, ServerErrors: true, Performed: true}
}

// allow begins to decode a call's arguments.
func (o *object) allow(names ...string) *object {
	checked := o.p.object(o.node, o.at, o.what, names...)
	o.misspelt, o.broken = checked.misspelt, o.broken || checked.broken
	return o
}

// objectOrText decodes an object, or a text (usually an expression) in place of it.
func (o *object) objectOrText(name string) any {
	n := o.value(name)
	if n == nil {
		return nil
	}
	if n.Kind == yaml.MappingNode || source.IsText(n) {
		return o.dataOrText(name)
	}
	o.p.wrongType(n, o.at.Key(name), "`"+name+"`", objectOrExpression)
	return nil
}

// Arguments returns the value of `with` as it is written, or an empty object if it is absent.
func Arguments(w *Workflow, call Task) Value {
	at := call.Base().Pointer.Key("with")
	data := w.Source.Data(at)
	if data == nil {
		data = map[string]any{}
	}
	return Value{Pointer: at, Data: data}
}

// outputTooDeep reports the `output` of the task if it is among the arguments of its call, where `output` is a word. It returns the arguments without it.
func (o *object) outputTooDeep(with *yaml.Node) *yaml.Node {
	_, output := source.Child(with, "output")
	if output == nil || output.Kind != yaml.MappingNode {
		return with
	}
	o.reportTooDeep(&object{p: o.p, node: with, at: o.at.Key("with")}, "output")
	rest := *with
	rest.Content = nil
	for i := 0; i+1 < len(with.Content); i += 2 {
		if with.Content[i].Value != "output" {
			rest.Content = append(rest.Content, with.Content[i], with.Content[i+1])
		}
	}
	return &rest
}
