package api

import (
	"encoding/json"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
)

// SchemaExport is the value of `schema` of an export.
const SchemaExport = "swrun/v1/export"

// Export is a run with all that is stored of it. Secrets are not in it: they are never stored.
type Export struct {
	Schema     string         `json:"schema"`
	Run        Description    `json:"run"` // with its failures and their categories
	Definition Exported       `json:"definition"`
	Records    []HistoryEvent `json:"records"` // its history
	State      any            `json:"state"`   // the tasks in progress, as the store keeps them
}

// Exported is the definition that a run is pinned to.
type Exported struct {
	Workflow  string            `json:"workflow"`
	Digest    string            `json:"digest"`
	File      string            `json:"file,omitempty"`
	Document  string            `json:"document"`            // YAML
	Resources map[string][]byte `json:"resources,omitempty"` // by URI, in base64
}

// NewExport returns the JSON of a run with all that is stored of it.
func NewExport(run Description, d definition.Definition, records []HistoryEvent, s *interpreter.State) (Export, error) {
	data, err := s.MarshalJSON()
	if err != nil {
		return Export{}, err
	}
	return Export{
		Schema: SchemaExport, Run: run, Records: records, State: json.RawMessage(data),
		Definition: Exported{run.Workflow, run.Definition, d.File, d.Document, d.Resources},
	}, nil
}
