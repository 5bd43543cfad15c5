package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
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
	Stored     Stored         `json:"stored"`
}

// Stored is what an import reads of an export. The rest of the export says the same for people and programs.
type Stored struct {
	SHA256 string `json:"sha256" doc:"Of the data, before it is in base64."`
	Data   []byte `json:"data"`
}

// NewStored returns the JSON of what is stored.
func NewStored(data []byte) Stored { return Stored{digest(data), data} }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ImportRequest is an export, of which only what is stored counts.
type ImportRequest struct {
	Schema string `json:"schema" enum:"swrun/v1/export"`
	Stored Stored `json:"stored"`

	// What people read of it:
	Run        any `json:"run,omitempty"`
	Definition any `json:"definition,omitempty"`
	Records    any `json:"records,omitempty"`
	State      any `json:"state,omitempty"`
}

// Check reports an export that is none, or that was cut or changed on its way.
func (r ImportRequest) Check() error {
	switch {
	case r.Schema != SchemaExport:
		return &client.OptionError{Field: "schema", Detail: "must be " + SchemaExport + ": this is not an export of a run"}
	case len(r.Stored.Data) == 0:
		return &client.OptionError{Field: "stored", Detail: "is missing: this is a part of an export"}
	case r.Stored.SHA256 != digest(r.Stored.Data):
		return &client.OptionError{Field: "stored", Detail: "does not have the sum that stands beside it: it was cut or changed"}
	}
	return nil
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
