package dsl

// RunScript runs a script.
type RunScript struct {
	TaskBase
	RunBase
	Process
	Language string            // js or python
	Code     string            // nothing in it is evaluated unless all of it is one ${ } expression
	Source   *ExternalResource // nil if Code is given
}

// Kind returns KindRunScript.
func (*RunScript) Kind() Kind { return KindRunScript }
