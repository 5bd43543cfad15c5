package api

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
)

// Diagnostic is a finding in a document. Empty members are left out.
type Diagnostic struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	File     string `json:"file"`
	Range
	Pointer  string    `json:"pointer"`
	Label    string    `json:"label,omitempty"`
	Help     string    `json:"help,omitempty"`
	Expected []string  `json:"expected,omitempty"`
	Related  []Related `json:"related,omitempty"`
	Fix      []Edit    `json:"fix,omitempty"`
}

// Range is a part of a document's text, in lines and columns from 1.
type Range struct {
	Line      int `json:"line"`
	Column    int `json:"column"`
	EndLine   int `json:"endLine"`
	EndColumn int `json:"endColumn"`
}

// Related is another part of the document to which a finding refers.
type Related struct {
	Label string `json:"label"`
	Range
}

// Edit is a change of the text that repairs a finding.
type Edit struct {
	NewText string `json:"newText"`
	Safe    bool   `json:"safe"`
	Range
}

// Diagnostics returns the JSON of findings.
func Diagnostics(found dsl.Diagnostics) []Diagnostic {
	all := make([]Diagnostic, len(found))
	for n, d := range found {
		all[n] = Diagnostic{
			Code: d.Code, Severity: d.Severity.String(), Message: d.Message, File: d.File, Range: newRange(d.Range), Pointer: string(d.Pointer),
			Label: d.Label, Help: d.Help, Expected: d.Expected,
		}
		for _, r := range d.Related {
			all[n].Related = append(all[n].Related, Related{r.Label, newRange(r.Range)})
		}
		for _, e := range d.Fix {
			all[n].Fix = append(all[n].Fix, Edit{e.NewText, e.Safe, newRange(e.Range)})
		}
	}
	return all
}

func newRange(r source.Range) Range {
	return Range{r.Start.Line, r.Start.Column, r.End.Line, r.End.Column}
}

// Found returns the findings from their JSON about a document, for display. It leaves out the edits, because they need offsets, which the JSON does
// not contain.
func Found(all []Diagnostic, file string) dsl.Diagnostics {
	found := make(dsl.Diagnostics, len(all))
	for n, d := range all {
		found[n] = dsl.Diagnostic{
			Code: d.Code, Severity: severity(d.Severity), Message: d.Message, File: file, Range: d.Range.source(), Pointer: dsl.Pointer(d.Pointer),
			Label: d.Label, Help: d.Help, Expected: d.Expected,
		}
		for _, r := range d.Related {
			found[n].Related = append(found[n].Related, source.Related{Label: r.Label, Range: r.source()})
		}
	}
	return found
}

// severity returns the severity of a word; an unknown word counts as an error.
func severity(word string) dsl.Severity {
	for s := dsl.SeverityWarning; s <= dsl.SeverityHint; s++ {
		if s.String() == word {
			return s
		}
	}
	return dsl.SeverityError
}

func (r Range) source() source.Range {
	return source.Range{Start: source.Position{Line: r.Line, Column: r.Column}, End: source.Position{Line: r.EndLine, Column: r.EndColumn}}
}

// Findings are the findings in documents.
type Findings struct {
	Diagnostics []Diagnostic `json:"diagnostics" nullable:"false"`
}
