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

func parseRunScript(p *parser, r *object, base TaskBase, run RunBase) Task {
	o := p.object(r.value("script"), r.at.Key("script"), "`script`", "language", "code", "source", "stdin", "arguments", "environment")
	o.require("language")
	o.exactlyOne("code", "source")
	return &RunScript{
		TaskBase: base, RunBase: run, Process: o.process(), Language: o.text("language"), Code: o.text("code"), Source: o.resource("source"),
	}
}
