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
