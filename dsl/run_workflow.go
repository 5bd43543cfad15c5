package dsl

// RunWorkflow runs another workflow.
type RunWorkflow struct {
	TaskBase
	RunBase
	Namespace string
	Workflow  string // name
	Version   string // semantic version or latest
	With      any    // input of the other workflow: nil if absent (the task's transformed input is passed then)
}

// Kind returns KindRunWorkflow.
func (*RunWorkflow) Kind() Kind { return KindRunWorkflow }

func parseRunWorkflow(p *parser, r *object, base TaskBase, run RunBase) Task {
	o := p.object(r.value("workflow"), r.at.Key("workflow"), "`workflow`", "namespace", "name", "version", "input")
	o.require("namespace", "name", "version")
	return &RunWorkflow{
		TaskBase: base, RunBase: run, Namespace: o.text("namespace"), Workflow: o.text("name"), Version: o.text("version"),
		With: o.data("input"),
	}
}
