package tasks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// TestStepsEndWithTheirRecords: a step holds 4 MiB of records and those of one task more, whether they are data or errors; tasks
// with little of it go on together.
func TestStepsEndWithTheirRecords(t *testing.T) {
	const large, most = 256 << 10, 4 << 20
	set := "set: {text: '${ .text }'}"
	caught := "try: [{b: {raise: {error: {type: 'https://a.test/e', status: 400, detail: '${ .text }'}}}}], catch: {}"
	for _, c := range []struct {
		name, task string
		size       int
		again      bool
	}{
		{"large outputs", set, large, true},
		{"large errors", caught, large, true},
		{"small outputs", set, 10, false},
		{"small errors", caught, 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustCompile(t, header+strings.Repeat("  - a: {"+c.task+"}\n", 100))
			s, now := interpreter.NewState("bench", "1"), time.Unix(0, 0).UTC()
			result := interpreter.Step(p, s, interpreter.Start{Input: map[string]any{"text": strings.Repeat("x", c.size)}}, now)
			if result.Again != c.again {
				t.Errorf("it has more to do: %t, after %d tasks", result.Again, result.Spent)
			}
			for result.Again {
				if bytes := recordedBytes(result.Records); bytes < most || bytes > most+4*large {
					t.Fatalf("a step has recorded %d bytes with %d tasks", bytes, result.Spent)
				}
				result = interpreter.Step(p, s, interpreter.Due{}, now)
			}
			if s.Status != interpreter.StatusCompleted {
				t.Errorf("the run is %s: %v", s.Status, s.Fault)
			}
		})
	}
}

// recordedBytes is how much text the data and the errors of records hold.
func recordedBytes(records []interpreter.Record) (bytes int) {
	for _, r := range records {
		if data, ok := r.Data.(map[string]any); ok {
			bytes += len(data["text"].(string))
		}
		if r.Error != nil {
			bytes += len(r.Error.Detail)
		}
	}
	return bytes
}
