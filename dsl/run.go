package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// RunBase contains the properties of all tasks that run a process.
type RunBase struct {
	Detached bool   // await: false
	Return   string // stdout (default), stderr, code, all or none
}

// Process contains the properties of shell commands, scripts and containers.
type Process struct {
	Stdin       Value // text
	Arguments   Value // a list, or a map (semantics 1.7)
	Environment Value // an object
}

// runKind is a kind of `run` task.
type runKind struct {
	kind  Kind
	key   string // the property of `run` for the kind
	parse func(p *parser, run *object, base TaskBase, shared RunBase) Task
}

// runKinds returns the kinds of `run` tasks.
func runKinds() []runKind {
	return []runKind{
		{KindRunContainer, "container", parseRunContainer},
		{KindRunScript, "script", parseRunScript},
		{KindRunShell, "shell", parseRunShell},
		{KindRunWorkflow, "workflow", parseRunWorkflow},
	}
}

// parseRun decodes a `run` task, whose kind is the property that `run` has.
func parseRun(p *parser, o *object, base TaskBase) Task {
	kinds := runKinds()
	var keys []string
	for _, k := range kinds {
		keys = append(keys, k.key)
	}
	n := o.value("run")
	r := p.object(n, o.at.Key("run"), "`run`", append(keys, "await", "return")...)
	shared := RunBase{Detached: !r.booleanOr("await", true), Return: r.enum("return", "stdout", "stderr", "code", "all", "none")}
	if n.Kind == yaml.MappingNode {
		key := r.exactlyOne(keys...)
		if i := slices.Index(keys, key); i >= 0 {
			return kinds[i].parse(p, r, base, shared)
		}
	}
	return &DoTask{TaskBase: base} // the kind of process is unknown
}

// traits returns the traits of all `run` tasks.
func (r RunBase) traits() Traits {
	return Traits{Group: "run", Unbounded: !r.Detached, ChangesOutside: true}
}

// processTraits returns the traits of a process, which gets its input from the task; program is its name in messages.
func (r RunBase) processTraits(program string) Traits {
	traits := r.traits()
	traits.SendsInput, traits.Performed, traits.Program = true, true, program
	switch {
	case r.Detached:
	case r.Return == "stdout" || r.Return == "stderr":
		traits.Puts = "text"
	case r.Return == "code":
		traits.Puts = "code"
	}
	return traits
}

func (p *Process) parts(w *walker) {
	w.value(propertyRun, p.Stdin, p.Environment)
	w.value(propertyRunArguments, p.Arguments)
}

// checkVariables reports names in `environment` that no variable can have.
func (o *object) checkVariables() {
	n := o.value("environment")
	if n == nil {
		return
	}
	at := o.at.Key("environment")
	o.p.reportBlankKeys(n, at, "the name of an environment variable")
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if key := n.Content[i]; strings.ContainsAny(key.Value, "=\x00") {
			o.p.add(Diagnostic{Code: "SW112", Message: shorten.Quoted(key.Value) + " is not the name of an environment variable", Pointer: at.Key(key.Value),
				Range: o.p.src.RangeOf(key), Help: "a name holds no `=`; the value stands after the colon"})
		}
		o.p.secretElsewhere(n.Content[i], n.Content[i+1], at)
	}
}

// secretElsewhere reports the value of a variable that is a reference to a secret as in pipelines and Kubernetes. Here it is an object, which a
// program gets as JSON.
func (p *parser) secretElsewhere(name, n *yaml.Node, at Pointer) {
	for _, reference := range []string{"from_secret", "valueFrom", "secretKeyRef", "vault"} {
		if key, _ := source.Child(n, reference); key != nil {
			p.add(Diagnostic{Code: "SW128", Message: fmt.Sprintf("`%s` has no meaning in the value of a variable", reference), Pointer: at.Key(name.Value).Key(reference), Range: p.src.RangeOf(key),
				Help: fmt.Sprintf("declare the secret, `use: { secrets: [token] }`, and write `%s: '${ $secrets.token }'`", oneLine(name.Value))})
			return
		}
	}
}

// process decodes the properties of all processes. Arguments may be a list or, as up to 1.0.1, a map (semantics 1.7).
func (o *object) process() Process {
	process := Process{Environment: o.mappingValue("environment")}
	o.checkVariables()
	if o.value("stdin") != nil {
		process.Stdin = Value{o.at.Key("stdin"), o.p.anyText(o.value("stdin"), o.at.Key("stdin"), "stdin"), FormData}
	}
	switch n := o.value("arguments"); {
	case n == nil:
	case n.Kind == yaml.MappingNode, source.IsText(n) && delimited.Is(n.Value):
		process.Arguments = o.dataValue("arguments")
	default:
		arguments := []any{}
		for _, text := range o.textsBy("arguments", o.p.anyText) {
			arguments = append(arguments, text)
		}
		process.Arguments = o.valueOf("arguments", arguments, FormData)
	}
	return process
}
