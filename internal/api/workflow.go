package api

import "github.com/swrun/swrun/runtime/definition"

// Workflow is a deployed workflow.
type Workflow struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Latest    string            `json:"latest,omitempty" doc:"The version of a start without a version: the highest release, or the highest pre-release if no release exists."`
	Versions  []WorkflowVersion `json:"versions" doc:"The latest first."`
}

// WorkflowVersion is a deployed version of a workflow.
type WorkflowVersion struct {
	Version    string `json:"version"`
	Definition string `json:"definition" doc:"The digest of the document and of the resources that it is deployed with."`
	Deployment
}

// Deployment contains the actor and the time of the deployment of a version. Versions that an older swrun has deployed do not contain them.
type Deployment struct {
	DeployedAt   string `json:"deployedAt,omitempty" format:"date-time"`
	DeployedBy   string `json:"deployedBy,omitempty" doc:"The name of a token, or a user of the machine where it was deployed."`
	DeployedFrom string `json:"deployedFrom,omitempty" doc:"The name of the document's file."`
}

// NewDeployment returns the JSON of a deployment.
func NewDeployment(d definition.Deployment) Deployment {
	return Deployment{Time(d.At), d.By, d.File}
}

// NewWorkflow returns the JSON of a deployed workflow.
func NewWorkflow(d definition.Deployed) Workflow {
	w := Workflow{Namespace: d.Namespace, Name: d.Name, Latest: d.Latest()}
	for _, v := range d.Versions {
		w.Versions = append(w.Versions, WorkflowVersion{v.Version, v.Digest, NewDeployment(v.Deployment)})
	}
	return w
}

// SchemaWorkflow is the value of `schema` of a workflow.
const SchemaWorkflow = "swrun/v1/workflow"

// DeployedWorkflow is a deployed version of a workflow.
type DeployedWorkflow struct {
	Schema     string   `json:"schema"`
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Definition string   `json:"definition" doc:"The digest of the document and of the resources that it is deployed with."`
	Title      string   `json:"title,omitempty"`
	Summary    string   `json:"summary,omitempty"`
	Latest     bool     `json:"latest" doc:"Whether a start that names no version starts this one."`
	Versions   []string `json:"versions" nullable:"false" doc:"All versions that are deployed, the latest first."`
	Deployment
	Document any `json:"document" data:"show" doc:"The document as JSON."`
	// Diagnostics are the warnings and hints about the document.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty" nullable:"false"`
}
