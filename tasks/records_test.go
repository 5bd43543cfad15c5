package tasks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// TestStepsEndWithTheirRecords: a step contains at most 4 MiB of records and requests, and the records of one further task, regardless
// of whether the records contain data or errors. Tasks with small records continue in the same step.
func TestStepsEndWithTheirRecords(t *testing.T) {
	const large, most = 256 << 10, 4 << 20
	set := "set: {text: '${ .text }'}"
	caught := "try: [{b: {raise: {error: {type: 'https://a.test/e', status: 400, detail: '${ .text }'}}}}], catch: {}"
	call := "call: http, with: {method: post, endpoint: 'http://a.test', body: '${ .text }'}"
	for _, c := range []struct {
		name, task string
		size       int
		fork       bool
		again      bool
	}{
		{"large outputs", set, large, false, true},
		{"large errors", caught, large, false, true},
		{"large requests", call, large, true, true},
		{"small outputs", set, 10, false, false},
		{"small errors", caught, 10, false, false},
		{"small requests", call, 10, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tasks := strings.Repeat("  - a: {"+c.task+"}\n", 100)
			if c.fork {
				tasks = "  - f: {fork: {branches: [" + strings.Repeat("{a: {"+c.task+"}}, ", 100) + "]}}\n"
			}
			p := mustCompile(t, header+tasks)
			s, now := interpreter.NewState("bench", "1"), time.Unix(0, 0).UTC()
			result := interpreter.Step(p, s, interpreter.Start{Input: map[string]any{"text": strings.Repeat("x", c.size)}}, now)
			if result.Again != c.again {
				t.Errorf("it has more to do: %t, after %d tasks", result.Again, result.TasksStarted)
			}
			for result.Again {
				if bytes := recordedBytes(result); bytes < most || bytes > most+4*large {
					t.Fatalf("a step has recorded %d bytes with %d tasks", bytes, result.TasksStarted)
				}
				result = interpreter.Step(p, s, interpreter.Due{}, now)
			}
			if s.Status != interpreter.StatusCompleted && !c.fork {
				t.Errorf("the run is %s: %v", s.Status, s.Fault)
			}
		})
	}
}

// recordedBytes returns the total size of the text in the data and errors of records, and in the requests of effects.
func recordedBytes(result interpreter.Result) (bytes int) {
	for _, e := range result.Effects {
		bytes += len(e.Request.Body)
	}
	for _, r := range result.History {
		if data, ok := r.Data.(map[string]any); ok {
			text, _ := data["text"].(string)
			bytes += len(text)
		}
		if r.Error != nil {
			bytes += len(r.Error.Detail)
		}
	}
	return bytes
}
