package progress

import (
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// TestEveryLifecycleEvent: each type of the specification occurs, with the members of the specification and a unique id (semantics 16.6).
func TestEveryLifecycleEvent(t *testing.T) {
	run := quoteRun()
	run.Types, run.Output = AllTypes(), "/v1/runs/demo/01K7ZA/output"
	members := map[string]string{ // by the verb: members of the data besides the names of the workflow and the task
		"started": "startedAt", "suspended": "suspendedAt", "resumed": "resumedAt", "cancelled": "cancelledAt", "faulted": "error faultedAt", "completed": "completedAt",
		"created": "createdAt", "retried": "retriedAt", "status-changed": "status updatedAt", "correlation-started": "startedAt", "correlation-completed": "completedAt correlationKeys",
	}
	found, ids := map[string]bool{}, map[string]bool{}
	for seq, r := range everyRecord() {
		r.Seq, r.At = seq+1, quoteTime
		last := -1
		for _, e := range Lifecycle(run, r) {
			found[e.Name] = true
			id := e.Event["id"].(string)
			place, ok := PlaceOf(strings.TrimLeft(id[strings.LastIndex(id, "-")+1:], "0123456789"))
			if ids[id] || !ok || place != e.Place || place <= last {
				t.Errorf("%s: id %s, place %d", e.Name, id, e.Place)
			}
			ids[id], last = true, place
			what, verb, _ := strings.Cut(e.Name, ".")
			want := append(strings.Fields(members[verb]), map[string][]string{"workflow": {"name"}, "task": {"task", "workflow"}}[what]...)
			if e.Name == "workflow.started" {
				want = append(want, "definition")
			}
			if e.Name == "workflow.completed" {
				want = append(want, "outputUri")
			}
			var got []string
			for name := range e.Event["data"].(map[string]any) {
				got = append(got, name)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || e.Event["type"] != "io.serverlessworkflow."+e.Name+".v1" || e.Event["subject"] != "quote-01K7ZA.demo" {
				t.Errorf("%s has %v, want %v: %v", e.Name, got, want, e.Event)
			}
		}
	}
	for _, name := range LifecycleTypes() {
		if !found[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if len(found) != 18 {
		t.Errorf("%d types", len(found))
	}
}

// everyRecord returns records of all kinds with lifecycle events.
func everyRecord() []interpreter.HistoryEvent {
	fault := errors.Timeoutf("no")
	about := func(typ interpreter.HistoryEventType, kind dsl.Kind, path string) interpreter.HistoryEvent {
		return interpreter.HistoryEvent{Type: typ, Kind: kind, Pointer: "/do/0/a", Path: interpreter.Path(path), Error: fault}
	}
	listened := about(interpreter.TaskCompleted, dsl.KindListen, "/do/0/a")
	listened.Correlated = map[string]string{"order": "o-7"}
	return []interpreter.HistoryEvent{
		{Type: interpreter.WorkflowStarted}, {Type: interpreter.WorkflowSuspended}, {Type: interpreter.WorkflowResumed},
		{Type: interpreter.WorkflowCancelled}, {Type: interpreter.WorkflowFaulted, Error: fault}, {Type: interpreter.WorkflowCompleted},
		about(interpreter.TaskStarted, dsl.KindListen, "/do/0/a"), listened, about(interpreter.TaskStarted, dsl.KindSet, "/do/0/a!1"),
		about(interpreter.TaskWaiting, dsl.KindWait, "/do/0/a"), about(interpreter.TaskSuspended, dsl.KindTry, "/do/0/a"), about(interpreter.TaskResumed, dsl.KindTry, "/do/0/a"),
		about(interpreter.TaskCancelled, dsl.KindSet, "/do/0/a"), about(interpreter.TaskFaulted, dsl.KindSet, "/do/0/a"),
	}
}

// TestLifecycleTypes checks the types of a selection.
func TestLifecycleTypes(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "emitted workflow.started task.created task.faulted workflow.correlation-started",
		"workflow":                     "workflow.started workflow.correlation-started",
		"task, workflow.started":       "workflow.started task.created task.faulted",
		"task.faulted":                 "task.faulted",
		"emitted":                      "emitted",
		"emitted,task.faulted":         "emitted task.faulted",
		"status-changed":               "workflow.status-changed task.status-changed",
		"task,workflow.status-changed": "task.created task.faulted workflow.status-changed",
	} {
		types, err := ParseTypes(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"emitted", "workflow.started", "task.created", "task.faulted", "workflow.correlation-started", "workflow.status-changed", "task.status-changed"} {
			if types.Has(name) {
				got = append(got, name)
			}
		}
		all := strings.Fields(want)
		slices.Sort(all)
		slices.Sort(got)
		if !slices.Equal(got, all) {
			t.Errorf("%q has %v, want %v", text, got, all)
		}
	}
	for _, text := range []string{" ", ",", "task,", "emitted.x", "Emitted", "tasks", "task.", "io.serverlessworkflow.task.faulted.v1", strings.Repeat("x", 1<<16)} {
		if _, err := ParseTypes(text); err == nil || len(err.Error()) > 2000 {
			t.Errorf("%.40q: %.60v", text, err)
		}
	}
}
