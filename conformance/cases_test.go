package conformance

import (
	"context"
	"testing"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime"
)

// TestCases runs every case as a user would, on virtual time.
func TestCases(t *testing.T) {
	for _, c := range mustCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, ok := c.files["diagnostics.txt"]; ok {
				_, diagnostics := load("workflow.yaml", c.files["workflow.yaml"], config(t))
				c.verifyDiagnostics(t, diagnostics)
				return
			}
			var records []interpreter.Record
			outcome, err := runtime.Run(context.Background(), c.mustProgram(t), c.input(t), runtime.Local{
				ID: "case", Virtual: true, Workflows: c.workflows(t),
				Observe: func(r interpreter.Record) { records = append(records, r) },
			})
			if err != nil {
				t.Fatal(err)
			}
			c.verify(t, outcome.Status, outcome.Output, outcome.Fault)
			c.verifyRecords(t, records)
		})
	}
}
