package dsl

import (
	"fmt"

	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// KindRunWorkflow is the kind of RunWorkflow.
const KindRunWorkflow Kind = "run_workflow"

// RunWorkflow runs another workflow.
type RunWorkflow struct {
	TaskBase
	RunBase
	Namespace string
	Workflow  string // name
	Version   string // semantic version or latest
	With      Value  // input of the other workflow; if it is absent, the task's transformed input is passed
}

// Kind returns KindRunWorkflow.
func (*RunWorkflow) Kind() Kind { return KindRunWorkflow }

// Traits: the errors of the other workflow are not known here.
func (t *RunWorkflow) Traits() Traits {
	traits := t.traits()
	traits.AnyErrors, traits.RunsWorkflow = true, true
	traits.LeavesChild = t.Detached || t.Engine.ParentClose == ParentCloseAbandon
	return traits
}

func (t *RunWorkflow) parts(w *walker) { w.value(propertyRunInput, t.With) }

// names returns the names that the task contains, for rules about the text of names.
func (t *RunWorkflow) names() []Value {
	at := t.Pointer.Key("run").Key("workflow")
	return []Value{{at.Key("namespace"), t.Namespace, FormData}, {at.Key("name"), t.Workflow, FormData}, {at.Key("version"), t.Version, FormData}}
}

func parseRunWorkflow(p *parser, r *object, base TaskBase, run RunBase) Task {
	o := p.object(r.value("workflow"), r.at.Key("workflow"), "`workflow`", "namespace", "name", "version", "input")
	o.require("namespace", "name", "version")
	return &RunWorkflow{
		TaskBase: base, RunBase: run, Namespace: o.text("namespace"), Workflow: o.text("name"), Version: o.text("version"),
		With: o.dataValue("input"),
	}
}

// checkVersions: SW111, versions of other workflows that no workflow can have. The official schema accepts any text there.
func checkVersions(c *checker) {
	Walk(c.w, func(t Task) bool {
		run, ok := t.(*RunWorkflow)
		if ok && run.Version != "" && run.Version != Latest && !IsVersion(run.Version) && len(foreignSigns(run.Version)) == 0 && !delimited.Is(run.Version) {
			c.addAs(SeverityWarning, Diagnostic{Code: "SW111", Pointer: run.Pointer.Key("run").Key("workflow").Key("version"),
				Message: fmt.Sprintf("no workflow has the version %s: versions have three numbers", shorten.Quoted(run.Version)),
				Help:    "a range is not understood: write `version: latest` for the highest version"})
		}
		return true
	})
}
