package diagnostics

import (
	"io"
	"path/filepath"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
)

// WriteSARIF writes ds in the Static Analysis Results Interchange Format 2.1.0.
func WriteSARIF(w io.Writer, ds dsl.Diagnostics) error {
	report := sarif.NewReport()
	run := sarif.NewRunWithInformationURI("swrun", "https://github.com/swrun/swrun")
	run.WithColumnKind("unicodeCodePoints")
	for _, d := range ds {
		rule := run.AddRule(d.Code)
		if known, ok := Rule(d.Code); ok {
			rule.WithDescription(known.Title)
		}
		result := run.CreateResultForRule(d.Code).WithLevel(sarifLevel(d.Severity)).WithMessage(sarif.NewTextMessage(sarifText(d)))
		result.AddLocation(sarifLocation(d.File, d.Range))
		for _, r := range d.Related {
			location := sarifLocation(d.File, r.Range)
			result.AddRelatedLocation(location.WithMessage(sarif.NewTextMessage(r.Label)))
		}
	}
	report.AddRun(run)
	return report.PrettyWrite(w)
}

func sarifText(d dsl.Diagnostic) string {
	text := d.Message
	for _, more := range []string{d.Label, d.Help} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}

func sarifLevel(s dsl.Severity) string {
	switch s {
	case dsl.SeverityError:
		return "error"
	case dsl.SeverityWarning:
		return "warning"
	}
	return "note"
}

func sarifLocation(file string, r source.Range) *sarif.Location {
	region := sarif.NewRegion().
		WithStartLine(max(1, r.Start.Line)).WithStartColumn(max(1, r.Start.Column)).
		WithEndLine(max(1, r.End.Line)).WithEndColumn(max(1, r.End.Column))
	return sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
		WithArtifactLocation(sarif.NewSimpleArtifactLocation(filepath.ToSlash(file))).WithRegion(region))
}

func Rule(code string) (dsl.Rule, bool) {
	for _, r := range dsl.Rules() {
		if r.Code == code {
			return r, true
		}
	}
	return dsl.Rule{}, false
}
