package dsl

// RunShell runs a shell command.
type RunShell struct {
	TaskBase
	RunBase
	Process
	Command string // may be a ${ } expression
}

// Kind returns KindRunShell.
func (*RunShell) Kind() Kind { return KindRunShell }

func parseRunShell(p *parser, r *object, base TaskBase, run RunBase) Task {
	o := p.object(r.value("shell"), r.at.Key("shell"), "`shell`", "command", "stdin", "arguments", "environment")
	o.require("command")
	return &RunShell{TaskBase: base, RunBase: run, Process: o.process(), Command: o.text("command")}
}
