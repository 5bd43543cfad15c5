package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/local"
)

// epoch is the time at which cases begin.
func epoch() time.Time { return time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC) }

// TestCases runs every case as a user would, on virtual time.
func TestCases(t *testing.T) {
	for _, c := range mustCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(c.comment, ":") {
				t.Errorf("the case does not name its rule: %q", c.comment)
			}
			if !c.runs() {
				_, diagnostics := load("workflow.yaml", c.files["workflow.yaml"], newOutside(c.files).config)
				c.verifyDiagnostics(t, diagnostics)
				return
			}
			c.verify(t, c.mustRun(t))
		})
	}
}

// mustRun runs the case in the runtime.
func (c testCase) mustRun(t *testing.T) ending {
	t.Helper()
	return c.mustRunIn(t, newOutside(c.files))
}

func (c testCase) mustRunIn(t *testing.T, o *outside) ending {
	t.Helper()
	var got ending
	var began time.Time
	outcome, err := local.Run(context.Background(), c.mustProgram(t, o), c.input(t), local.Config{
		ID: "case", Virtual: true, Workflows: c.workflows(o), Arrivals: c.arrivals(t),
		Now: func() time.Time {
			if began.IsZero() {
				began = time.Now()
				return epoch()
			}
			return epoch().Add(time.Since(began))
		},
		Observe: func(r interpreter.HistoryEvent) { got.records = append(got.records, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	got.status, got.output, got.fault, got.events = outcome.Status, outcome.Output, outcome.Fault, o.events
	got.elapsed = outcome.EndedAt.Sub(outcome.StartedAt)
	if slices.ContainsFunc(got.records, func(r interpreter.HistoryEvent) bool { return r.Type == interpreter.EffectStarted }) {
		got.elapsed = -1 // real time passes while effects are in flight
	}
	return got
}
