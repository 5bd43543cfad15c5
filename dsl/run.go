package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/delimited"
)

// RunBase is what the tasks that run a process share.
type RunBase struct {
	Detached bool   // await: false
	Return   string // stdout (default), stderr, code, all or none
}

// Process is what a shell command, a script and a container share.
type Process struct {
	Stdin       any            // nil if absent; otherwise text that may be a ${ } expression
	Arguments   any            // nil, a list, or a map (semantics 1.7); ${ } strings are evaluated
	Environment map[string]any // values may be ${ } expressions
}

// parseRun tells the runs apart by what is run.
func parseRun(p *parser, o *object, base TaskBase) Task {
	n := o.value("run")
	r := p.object(n, o.at.Key("run"), "`run`", "container", "script", "shell", "workflow", "await", "return")
	run := RunBase{Detached: !r.booleanOr("await", true), Return: r.enum("return", "stdout", "stderr", "code", "all", "none")}
	kind := ""
	if n.Kind == yaml.MappingNode {
		kind = r.exactlyOne("container", "script", "shell", "workflow")
	}
	switch kind {
	case "container":
		return parseRunContainer(p, r, base, run)
	case "script":
		return parseRunScript(p, r, base, run)
	case "shell":
		return parseRunShell(p, r, base, run)
	case "workflow":
		return parseRunWorkflow(p, r, base, run)
	}
	return &DoTask{TaskBase: base} // nothing tells what is run
}

// process decodes what the processes share. Arguments may be a list or, as up to 1.0.1, a map (semantics 1.7).
func (o *object) process() Process {
	process := Process{Environment: o.mapping("environment")}
	if n := o.value("environment"); n != nil {
		o.p.names(n, o.at.Key("environment"), "the name of an environment variable")
	}
	if o.value("stdin") != nil {
		process.Stdin = o.p.anyText(o.value("stdin"), o.at.Key("stdin"), "stdin")
	}
	switch n := o.value("arguments"); {
	case n == nil:
	case n.Kind == yaml.MappingNode, isText(n) && delimited.Is(n.Value):
		process.Arguments = o.data("arguments")
	default:
		arguments := []any{}
		for _, text := range o.textsBy("arguments", o.p.anyText) {
			arguments = append(arguments, text)
		}
		process.Arguments = arguments
	}
	return process
}
