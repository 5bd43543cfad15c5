package interpreter_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// TestEarlierHistoriesAreRepeated: a step is repeated as the history contains it. Steps of earlier builds noted no late scope before a timeout, and
// noted outer scopes first.
func TestEarlierHistoriesAreRepeated(t *testing.T) {
	type events = []interpreter.HistoryEvent
	for name, c := range map[string]struct {
		timeout string
		earlier func(events) events // of the step at which the scopes are late
		want    []string            // the records of the step
	}{
		"as it is":       {"timeout: {after: PT10S}\n", func(all events) events { return all }, []string{"task.late", "workflow.late", "task.cancelled", "workflow.faulted"}},
		"without them":   {"timeout: {after: PT10S}\n", func(all events) events { return all[2:] }, []string{"task.cancelled", "workflow.faulted"}},
		"in other order": {"", func(all events) events { slices.Reverse(all); return all }, []string{"workflow.late", "task.late"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustProgram(t, c.timeout+"do: [{a: {metadata: {swrun: {softDeadline: PT5S}}, run: {shell: {command: x}}}}]")
			p.Workflow.Document.Engine.SoftDeadline = &dsl.Duration{Exact: 8 * time.Second}
			s, began := start(p)
			late := interpreter.Step(p, s, interpreter.Due{}, now.Add(30*time.Second))
			late.History = c.earlier(late.History)
			var got []string
			for n := range late.History {
				got = append(got, string(late.History[n].Type))
				late.History[n].Seq = len(began.History) + n + 1
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatal(diff)
			}
			past := interpreter.Past{Program: p, New: interpreter.NewState("a", "1"), Start: interpreter.Start{Input: "in"}, Steps: []interpreter.HistoryStep{
				interpreter.NewHistoryStep(interpreter.Start{}, now, began), interpreter.NewHistoryStep(interpreter.Due{}, now.Add(30*time.Second), late),
			}}
			if _, err := past.TaskData(t.Context(), len(began.History)); err != nil {
				t.Error(err)
			}
			past.New = interpreter.NewState("a", "1")
			replayed, err := interpreter.Replay(past)
			if err != nil || replayed.HistoryEvents() != len(began.History)+len(c.want) || replayed.Status != s.Status {
				t.Errorf("got %d records, and the run is %s: %v", replayed.HistoryEvents(), replayed.Status, err)
			}
			if c.timeout == "" && mustJSON(t, replayed) != mustJSON(t, s) {
				t.Errorf("got %s, want %s", mustJSON(t, replayed), mustJSON(t, s))
			}
		})
	}
}
