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
