package dsl

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
