package dsl

// KindRunScript is the kind of RunScript.
const KindRunScript Kind = "run_script"

// RunScript runs a script.
type RunScript struct {
	TaskBase
	RunBase
	Process
	Language string            // as it is written, such as js
	Code     Value             // text
	Source   *ExternalResource // nil if Code is given
}

// Kind returns KindRunScript.
func (*RunScript) Kind() Kind { return KindRunScript }

// Traits returns the traits of a process.
func (t *RunScript) Traits() Traits { return t.processTraits("script") }

func (t *RunScript) parts(w *walker) {
	t.Process.parts(w)
	w.value(propertyCode, t.Code)
	w.resource(t.Source)
}

func parseRunScript(p *parser, r *object, base TaskBase, run RunBase) Task {
	o := p.object(r.value("script"), r.at.Key("script"), "`script`", "language", "code", "source", "stdin", "arguments", "environment")
	o.require("language")
	o.exactlyOne("code", "source")
	return &RunScript{
		TaskBase: base, RunBase: run, Process: o.process(), Language: o.text("language"), Code: o.textValue("code"), Source: o.resource("source"),
	}
}
