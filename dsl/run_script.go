package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

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
	if image, _ := source.Child(r.value("script"), "image"); image != nil {
		p.reportImage(image, r.at.Key("script"))
		return &RunScript{TaskBase: base, RunBase: run}
	}
	o := p.object(r.value("script"), r.at.Key("script"), "`script`", "language", "code", "source", "stdin", "arguments", "environment")
	o.require("language")
	o.exactlyOne("code", "source")
	return &RunScript{
		TaskBase: base, RunBase: run, Process: o.process(), Language: o.text("language"), Code: o.textValue("code"), Source: o.resource("source"),
	}
}

// reportImage reports a script as Argo writes it, with `image` and its text as `source`: one mistake of two properties.
func (p *parser) reportImage(image *yaml.Node, script Pointer) {
	p.add(Diagnostic{Code: "SW106", Message: "`image` is not a property of `script`", Pointer: script.Key(image.Value), Range: p.src.RangeOf(image),
		Help: "write `script: { language: js, code: ... }`, or `run: { container: { image: ..., command: ... } }` for an image"})
}
