package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
)

// RunBase is what the tasks that run a process share.
type RunBase struct {
	Detached bool   // await: false
	Return   string // stdout (default), stderr, code, all or none
}

// Process is what a shell command, a script and a container share.
type Process struct {
	Stdin       Value // text
	Arguments   Value // a list, or a map (semantics 1.7)
	Environment Value // an object
}

// parseRun decodes a `run` task: of a container, a script, a shell command or a workflow.
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
	return &DoTask{TaskBase: base} // it is not known what to run
}

// traits returns those of all `run` tasks.
func (r RunBase) traits() Traits {
	return Traits{Group: "run", Unbounded: !r.Detached, ChangesOutside: true}
}

// processTraits returns those of a process, which gets its input from the task.
func (r RunBase) processTraits() Traits {
	traits := r.traits()
	traits.SendsInput = true
	return traits
}

func (p *Process) parts(w *walker) {
	w.value(propertyRun, p.Stdin, p.Environment)
	w.value(propertyRunArguments, p.Arguments)
}

// process decodes what the processes share. Arguments may be a list or, as up to 1.0.1, a map (semantics 1.7).
func (o *object) process() Process {
	process := Process{Environment: o.mappingValue("environment")}
	if n := o.value("environment"); n != nil {
		o.p.reportBlankKeys(n, o.at.Key("environment"), "the name of an environment variable")
	}
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
