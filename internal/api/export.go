package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
)

// SchemaExport is the value of `schema` of an export.
const SchemaExport = "swrun/v1/export"

// Export is a run with everything that is stored about it. It contains no secrets, because these are never stored.
type Export struct {
	Schema     string         `json:"schema"`
	Run        Description    `json:"run"` // with its failures and their categories
	Definition Exported       `json:"definition"`
	Records    []HistoryEvent `json:"records"` // its history
	State      any            `json:"state"`   // the tasks in progress, in the form of the store
	Sums       Sums           `json:"sums"`
	Stored     Stored         `json:"stored"`
}

// Sums are the digests of the members that people and programs read: SHA-256 of the member as JSON on one line, with sorted names. Each number is
// replaced by the nearest number of 64 bits, because programs that only reformat the file do the same.
type Sums struct {
	Run        string `json:"run,omitempty"`
	Definition string `json:"definition,omitempty"`
	Records    string `json:"records,omitempty"`
	State      string `json:"state,omitempty"`
}

// members returns a digest for each member of an export that people and programs read.
func (s Sums) members() []struct{ name, sum string } {
	return []struct{ name, sum string }{{"run", s.Run}, {"definition", s.Definition}, {"records", s.Records}, {"state", s.State}}
}

// newSums returns the digests of the members of an export.
func newSums(run, definition, records, state any) (s Sums, err error) {
	for to, member := range map[*string]any{&s.Run: run, &s.Definition: definition, &s.Records: records, &s.State: state} {
		plain, err := expr.Normalize(member)
		if err != nil {
			return Sums{}, err
		}
		text, err := expr.Encode(jsonvalue.Map(plain, nearest))
		if err != nil {
			return Sums{}, err
		}
		*to = digest(text)
	}
	return s, nil
}

// nearest returns the number of 64 bits that is nearest to a number, without the sign of zero; any other value unchanged.
func nearest(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v + 0
	case json.Number:
		f, _ := v.Float64() // infinite if the number is too large
		return f + 0
	}
	return v
}

// Summed returns the export with the current digests of its members.
func (e Export) Summed() (_ Export, err error) {
	e.Sums, err = newSums(e.Run, e.Definition, e.Records, e.State)
	return e, err
}

// Stored is the part of an export that an import reads. The other parts show the same to people and programs.
type Stored struct {
	SHA256 string `json:"sha256" doc:"Of the data, before it is in base64."`
	Data   []byte `json:"data"`
}

// NewStored returns the JSON of stored data.
func NewStored(data []byte) Stored { return Stored{digest(data), data} }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ImportRequest is an export. Only Stored is imported.
type ImportRequest struct {
	Schema string `json:"schema" enum:"swrun/v1/export"`
	Stored Stored `json:"stored"`
	Sums   *Sums  `json:"sums,omitempty" doc:"Left out in exports of older versions."`

	// The members for people, which must be unchanged:
	Run        any `json:"run,omitempty"`
	Definition any `json:"definition,omitempty"`
	Records    any `json:"records,omitempty"`
	State      any `json:"state,omitempty"`
}

// Check reports a document that is no export, and an export that was cut or changed.
func (r ImportRequest) Check() error {
	switch {
	case r.Schema != SchemaExport:
		return &client.OptionError{Field: "schema", Detail: "must be " + SchemaExport + ": this is not an export of a run"}
	case len(r.Stored.Data) == 0:
		return &client.OptionError{Field: "stored", Detail: "is missing: this is a part of an export"}
	case r.Stored.SHA256 != digest(r.Stored.Data):
		return &client.OptionError{Field: "stored", Detail: "does not match its checksum: it was cut or changed"}
	}
	return r.checkMembers()
}

// checkMembers reports a member for people that differs from its export: an import would lose the change.
func (r ImportRequest) checkMembers() error {
	if r.Sums == nil { // the export is of an older version
		return nil
	}
	are, err := newSums(r.Run, r.Definition, r.Records, r.State)
	if err != nil {
		return err
	}
	was := r.Sums.members()
	for n, is := range are.members() {
		if is != was[n] {
			return &client.OptionError{Field: is.name, Detail: "was changed or cut after the export, and only `stored` is imported, which has no such change: " +
				"import the file as it was exported, or remove `sums` from it to import `stored`"}
		}
	}
	return nil
}

// Exported is the definition to which a run is pinned.
type Exported struct {
	Workflow  string            `json:"workflow"`
	Digest    string            `json:"digest"`
	File      string            `json:"file,omitempty"`
	Document  string            `json:"document"`            // YAML
	Resources map[string][]byte `json:"resources,omitempty"` // by URI, in base64
	Locations map[string]string `json:"locations,omitempty"` // by URI: the base of relative references in a resource, if a server has redirected the reader
}

// NewExport returns the JSON of a run with everything that is stored about it.
func NewExport(run Description, d definition.Definition, records []HistoryEvent, s *interpreter.State) (Export, error) {
	data, err := s.MarshalJSON()
	if err != nil {
		return Export{}, err
	}
	return Export{
		Schema: SchemaExport, Run: run, Records: records, State: json.RawMessage(data),
		Definition: Exported{run.Workflow, run.Definition, d.File, d.Document, d.Resources, d.Locations},
	}.Summed()
}
