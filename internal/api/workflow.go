package api

import "github.com/swrun/swrun/runtime/definition"

// Workflow is a workflow that is deployed.
type Workflow struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Latest    string            `json:"latest,omitempty" doc:"The version that a start without one takes: the highest release, or the highest of all if there is none."`
	Versions  []WorkflowVersion `json:"versions" doc:"The latest first."`
}

// WorkflowVersion is a deployed version of a workflow.
type WorkflowVersion struct {
	Version string `json:"version"`
	Digest  string `json:"digest" doc:"Of the document and its external resources: runs name their definition so."`
}

// NewWorkflow returns the JSON of a deployed workflow.
func NewWorkflow(d definition.Deployed) Workflow {
	w := Workflow{Namespace: d.Namespace, Name: d.Name, Latest: d.Latest()}
	for _, v := range d.Versions {
		w.Versions = append(w.Versions, WorkflowVersion{v.Version, v.Digest})
	}
	return w
}
