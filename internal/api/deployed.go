package api

// SchemaWorkflow is the value of `schema` of a workflow.
const SchemaWorkflow = "swrun/v1/workflow"

// DeployedWorkflow is a version of a workflow as it is deployed.
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
	Document   any      `json:"document" doc:"The document as JSON."`
	// Diagnostics are the warnings and hints about the document.
	Diagnostics []Diagnostic `json:"diagnostics,omitempty" nullable:"false"`
}

// Findings is what was found in documents.
type Findings struct {
	Diagnostics []Diagnostic `json:"diagnostics" nullable:"false"`
}
