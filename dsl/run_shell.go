package dsl

import "github.com/swrun/swrun/dsl/source"

// KindRunShell is the kind of RunShell.
const KindRunShell Kind = "run_shell"

// RunShell runs a shell command.
type RunShell struct {
	TaskBase
	RunBase
	Process
	Command Value // text
}

// Kind returns KindRunShell.
func (*RunShell) Kind() Kind { return KindRunShell }

// Traits returns the traits of a process.
func (t *RunShell) Traits() Traits { return t.processTraits("command") }

func (t *RunShell) parts(w *walker) {
	t.Process.parts(w)
	w.value(propertyCode, t.Command)
}

func parseRunShell(p *parser, r *object, base TaskBase, run RunBase) Task {
	if r.misspelt["shell"] && source.IsText(r.value("shell")) { // reported: the name of a shell beside the command
		return &RunShell{TaskBase: base, RunBase: run}
	}
	o := p.object(r.value("shell"), r.at.Key("shell"), "`shell`", "command", "stdin", "arguments", "environment")
	o.require("command")
	return &RunShell{TaskBase: base, RunBase: run, Process: o.process(), Command: o.textValue("command")}
}
