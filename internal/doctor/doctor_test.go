package doctor_test

import (
	"testing"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/doctor"
)

// TestReport: the status of a report is that of its worst finding; notes do not count (promises 134), nor does the order.
func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		levels []string
		status string
	}{
		"nothing":               {nil, doctor.OK},
		"all is well":           {[]string{doctor.OK, doctor.OK}, doctor.OK},
		"notes":                 {[]string{doctor.Note, doctor.OK, doctor.Note}, doctor.OK},
		"a warning":             {[]string{doctor.OK, doctor.Warning, doctor.Note}, doctor.Warning},
		"an error":              {[]string{doctor.Warning, doctor.Error, doctor.Warning, doctor.Note}, doctor.Error},
		"an error is the worst": {[]string{doctor.Error, doctor.Warning}, doctor.Error},
	} {
		t.Run(name, func(t *testing.T) {
			var found []doctor.Finding
			for _, level := range c.levels {
				found = append(found, doctor.Finding{Code: "SD001", Level: level, What: "what", Fix: "fix"})
			}
			report := doctor.Report(found)
			if report.Status != c.status || report.Schema != api.SchemaHealth || report.Checks == nil || len(report.Checks) != len(found) {
				t.Errorf("the report is %+v, want %s", report, c.status)
			}
			for n, check := range report.Checks {
				if check.Status != c.levels[n] || check.Name == "" || check.Reason != "what" {
					t.Errorf("a check says %+v", check)
				}
			}
		})
	}
}
