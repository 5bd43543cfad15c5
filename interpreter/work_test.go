package interpreter_test

import (
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// TestStepsEndAfterMuchWork: even a few tasks may do much work, and deadlines must be checked between them. The work is counted, so that the test
// gives the same result on every machine.
func TestStepsEndAfterMuchWork(t *testing.T) {
	for _, c := range []struct{ name, task string }{
		{"an expression of many steps", `if: "[range(60000)] | length > 0"`},
		{"an expression that fails", `if: "try ([range(60000) | error(.)?] | error) catch true"`},
		{"an expression of single heavy operations", `if: "[range(2000) as $i | [range(50; 0; -1)] | sort] | length > 0"`},
		{"an expression of a schema", `input: {from: "[range(60000)]", schema: {document: {}}}, output: {as: "1"}`},
		{"a schema whose work is counted", `output: {as: "[range(10000)]", schema: {document: {items: {$ref: "#/definitions/a"}, definitions: {a: {type: integer}}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tasks := "timeout: {after: PT1S}\ndo:\n"
			for range 600 {
				tasks += "- a: {set: {x: 1}, " + c.task + "}\n"
			}
			s, result := start(mustProgram(t, tasks))
			if !result.Again || result.TasksStarted > 300 {
				t.Fatalf("the step started %d tasks; the run is %s: %v", result.TasksStarted, s.Status, s.Fault)
			}
			again := interpreter.Step(mustProgram(t, tasks), s, interpreter.Due{}, now.Add(2*time.Second))
			if !s.TimedOut || again.TasksStarted != 0 {
				t.Errorf("the time is over, and the run is %s after %d tasks more", s.Status, again.TasksStarted)
			}
		})
	}
}
