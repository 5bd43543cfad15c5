package interpreter_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// call is a minimal kind with an effect: it asks for one and yields the result.
type call struct{}

func (call) Enter(*interpreter.Scope) interpreter.Next { return interpreter.Perform("request") }

func (call) Finish(_ *interpreter.Scope, result any) interpreter.Next {
	return interpreter.Done(result)
}

// set is a minimal kind without effects: it yields its input.
type set struct{}

func (set) Enter(s *interpreter.Scope) interpreter.Next { return interpreter.Done(s.Input()) }

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func mustProgram(t *testing.T, tasks string) *interpreter.Program {
	t.Helper()
	w, found := dsl.Parse("test.yaml", []byte("document: {dsl: 1.0.3, namespace: a, name: a, version: 0.1.0}\n"+tasks))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	p, found := interpreter.Compile(w, interpreter.Config{Kinds: []interpreter.Kind{
		{Kind: dsl.KindRunShell, Compile: func(*interpreter.Builder, dsl.Task) interpreter.Body { return call{} }},
		{Kind: dsl.KindSet, Compile: func(*interpreter.Builder, dsl.Task) interpreter.Body { return set{} }},
	}})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func start(p *interpreter.Program) (*interpreter.State, interpreter.Result) {
	s := interpreter.NewState("a", "1")
	return s, interpreter.Step(p, s, interpreter.Start{Input: "in"}, now)
}

func types(result interpreter.Result) []string {
	var all []string
	for _, r := range result.History {
		all = append(all, fmt.Sprintf("%d %s %s", r.Seq, r.Type, r.Path))
	}
	return all
}

func TestEffectAndResult(t *testing.T) {
	p := mustProgram(t, "do: [{a: {run: {shell: {command: x}}}}]")
	s, result := start(p)
	if len(result.Effects) != 1 || result.Effects[0].Request.Path != "/do/0/a" || string(result.Effects[0].Request.Body) != `"request"` {
		t.Fatalf("got the effects %+v", result.Effects)
	}
	result = interpreter.Step(p, s, interpreter.Finished{Effect: result.Effects[0].ID, Result: 7}, now)
	if s.Status != interpreter.StatusCompleted || s.Output != 7 {
		t.Errorf("the run is %s with %v", s.Status, s.Output)
	}
	want := []string{"4 effect.finished /do/0/a", "5 task.completed /do/0/a", "6 workflow.completed "}
	if diff := cmp.Diff(want, types(result)); diff != "" {
		t.Error(diff)
	}
}

// TestResultAtTheDeadlineLoses: a scope times out at its deadline, not after it.
func TestResultAtTheDeadlineLoses(t *testing.T) {
	for _, c := range []struct {
		name string
		at   time.Duration
		want interpreter.Status
	}{
		{"a nanosecond before", time.Second - 1, interpreter.StatusCompleted},
		{"at the deadline", time.Second, interpreter.StatusFaulted},
		{"after it", time.Second + 1, interpreter.StatusFaulted},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustProgram(t, "do: [{a: {run: {shell: {command: x}}, timeout: {after: PT1S}}}]")
			s, result := start(p)
			if !s.NextWake().Equal(now.Add(time.Second)) {
				t.Errorf("the next wake-up is %v", s.NextWake())
			}
			result = interpreter.Step(p, s, interpreter.Finished{Effect: result.Effects[0].ID, Result: 7}, now.Add(c.at))
			if s.Status != c.want {
				t.Errorf("the run is %s, want %s", s.Status, c.want)
			}
			if c.want == interpreter.StatusFaulted && (!errors.Same(s.Fault.Type, errors.Timeout) || len(result.Cancels) != 1) {
				t.Errorf("the fault is %v, and %d effects are cancelled", s.Fault, len(result.Cancels))
			}
		})
	}
}

func TestLateResultIsOnlyNoted(t *testing.T) {
	p := mustProgram(t, "do: [{a: {run: {shell: {command: x}}}}]")
	s, result := start(p)
	id := result.Effects[0].ID
	interpreter.Step(p, s, interpreter.Cancel{Reason: "enough"}, now)
	before := mustJSON(t, s)
	result = interpreter.Step(p, s, interpreter.Finished{Effect: id, Result: 7}, now)
	if diff := cmp.Diff([]string{"6 result.late "}, types(result)); diff != "" {
		t.Error(diff)
	}
	if s.Status != interpreter.StatusCancelled || s.Output != nil {
		t.Errorf("the run is %s with %v; before it was %s", s.Status, s.Output, before)
	}
}

// TestAttemptsOfEndedTasksAreNoted: if the run receives a timely report of a worker after the end of the task, the history names the task, the worker
// and the time at which the worker took the attempt (promises 213, 225). An attempt that no worker took is not noted.
func TestAttemptsOfEndedTasksAreNoted(t *testing.T) {
	p := mustProgram(t, "do: [{a: {run: {shell: {command: x}}}}]")
	s, result := start(p)
	id := result.Effects[0].ID
	interpreter.Step(p, s, interpreter.Cancel{Reason: "enough"}, now)
	attempt := interpreter.Attempt{Number: 2, Worker: "w", StartedAt: now}
	silent := interpreter.Attempt{Number: 2, Worker: "w", StartedAt: now, Timeout: interpreter.DeadlineHeartbeat}
	for n, c := range []struct {
		event interpreter.Event
		want  interpreter.HistoryEvent
	}{
		{interpreter.Finished{Effect: id, Attempt: attempt, Pointer: "/do/0/a"}, interpreter.HistoryEvent{Attempt: 2, Worker: "w", StartedAt: now}},
		{interpreter.AttemptFailed{Effect: id, Attempt: attempt, Pointer: "/do/0/a"}, interpreter.HistoryEvent{Attempt: 2, Worker: "w", StartedAt: now, Report: interpreter.ReportFailed}},
		{interpreter.AttemptFailed{Effect: id, Attempt: silent, Pointer: "/do/0/a"}, interpreter.HistoryEvent{Attempt: 2, Worker: "w", StartedAt: now, Timeout: interpreter.DeadlineHeartbeat}},
	} {
		c.want.Type, c.want.Seq, c.want.At, c.want.Effect, c.want.Pointer = interpreter.ResultLate, 6+n, now, id, "/do/0/a"
		if diff := cmp.Diff([]interpreter.HistoryEvent{c.want}, interpreter.Step(p, s, c.event, now).History); diff != "" {
			t.Errorf("%T (-want +got):\n%s", c.event, diff)
		}
	}
	if told := interpreter.Step(p, s, interpreter.AttemptFailed{Effect: id, Attempt: interpreter.Attempt{Number: 2}, Pointer: "/do/0/a"}, now).History; len(told) > 0 {
		t.Errorf("of an attempt that nobody has taken the history tells %+v", told)
	}
}

// TestStepIsBounded: a loop that never waits returns to the driver repeatedly.
func TestStepIsBounded(t *testing.T) {
	p := mustProgram(t, "timeout: {after: PT1S}\ndo: [{a: {set: {x: 1}, then: a}}]")
	s, result := start(p)
	for i := range 3 {
		if !result.Again || result.TasksStarted != 1000 {
			t.Fatalf("step %d: again is %v after %d tasks", i, result.Again, result.TasksStarted)
		}
		result = interpreter.Step(p, s, interpreter.Due{}, now)
	}
	size := len(mustJSON(t, s))
	interpreter.Step(p, s, interpreter.Due{}, now)
	if grown := len(mustJSON(t, s)) - size; grown > 8 {
		t.Errorf("the state has grown by %d bytes in 1,000 tasks", grown)
	}
	interpreter.Step(p, s, interpreter.Due{}, now.Add(time.Second))
	if s.Status != interpreter.StatusFaulted || s.Fault.Instance != "/" {
		t.Errorf("the run is %s: %v", s.Status, s.Fault)
	}
}

// TestStateOfAnotherDefinition: a state cannot be run by a program that it does not belong to.
func TestStateOfAnotherDefinition(t *testing.T) {
	s, _ := start(mustProgram(t, "do: [{a: {run: {shell: {command: x}}}}]"))
	copied := mustCopy(t, s)
	defer func() {
		if recover() == nil {
			t.Error("the state was taken")
		}
	}()
	interpreter.Step(mustProgram(t, "do: [{b: {set: {x: 1}}}]"), copied, interpreter.Due{}, now)
}

// mustCopy stores s and reads it again.
func mustCopy(t *testing.T, s *interpreter.State) *interpreter.State {
	t.Helper()
	changes, err := s.TakeChanges()
	if err != nil {
		t.Fatal(err)
	}
	var stored interpreter.StoredState
	stored.Apply(changes)
	read, err := interpreter.Restore(nil, interpreter.NewState(s.Namespace, s.ID), s.Input, stored)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
