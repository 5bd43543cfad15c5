package main

import (
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// This file makes the JSON of runs, which is that of the HTTP API too.

// object is a JSON object whose empty members are left out.
type object map[string]any

func (o object) set(name string, v any) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return
		}
	case time.Time:
		if v.IsZero() {
			return
		}
		o[name] = moment(v)
		return
	case nil:
		return
	}
	o[name] = v
}

// runResource is a run as it is listed.
func runResource(i store.Instance, r store.Lifecycle, info *execution.Invocation, status string) object {
	o := object{
		"schema": "swrun/v1/run", "id": i.ID, "namespace": i.Namespace, "workflow": info.Workflow.String(), "status": status,
		"definition": info.Definition, "records": r.Records,
	}
	o.set("closedReason", closedReason(r))
	o.set("businessKey", info.BusinessKey)
	if len(info.Labels) > 0 {
		labels := map[string]any{}
		for name, value := range info.Labels {
			labels[name] = value
		}
		o["labels"] = labels
	}
	if info.Parent != nil {
		o["parent"] = info.Parent.Instance.String()
	}
	o.set("createdAt", r.CreatedAt())
	if r.Status != interpreter.StatusPending {
		o.set("startedAt", store.Moment(r.Started))
	} else if r.Started > 0 {
		o.set("startsAt", store.Moment(r.Started))
	}
	o.set("closedAt", store.Moment(r.Closed))
	o.set("nextWakeAt", store.Moment(r.Wake))
	o.set("deadlineAt", store.Moment(r.Deadline))
	if info.ExecutionTimeout > 0 {
		o["executionTimeoutSeconds"] = info.ExecutionTimeout.Seconds()
	}
	if info.RunTimeout > 0 {
		o["runTimeoutSeconds"] = info.RunTimeout.Seconds()
	}
	if r.Held() {
		o["heldUntil"] = moment(store.Moment(r.Lease))
	}
	if r.Deaths > 0 {
		o["workersLost"] = r.Deaths
	}
	return o
}

func closedReason(r store.Lifecycle) string {
	if r.Status.Final() {
		return r.Reason
	}
	return ""
}

// description is a run with everything that can be told of it.
func description(d, source *runtime.Description) object {
	o := runResource(d.Instance, d.Record, d.Info, d.Status)
	o.set("reason", d.Reason)
	if d.Gone {
		o["workerGone"] = true
	}
	o.set("why", d.Why)
	o.set("then", d.Then)
	o["input"] = d.Info.Input.V
	timeoutFields(o, d.Limits)
	deadlineFields(o, d.State.Deadlines)
	if d.State.Status == interpreter.StatusCompleted {
		o["output"] = d.State.Output
	}
	if d.State.Fault != nil {
		failure := failureValue(d.State)
		if source != d {
			at := source.Program.Workflow.Source
			failure["run"], failure["workflow"] = source.Instance.String(), source.Info.Workflow.String()
			failure["file"], failure["line"] = at.File, at.Key(taskPointer(d.State.Fault.Instance)).Start.Line
		}
		o["failure"] = failure
	}
	var open []any
	for _, t := range d.Open {
		task := object{"kind": string(t.Kind), "pointer": string(t.Pointer), "file": d.Program.Workflow.Source.File, "line": d.Program.Workflow.Source.Key(t.Origin).Start.Line}
		if string(t.Path) != string(t.Pointer) {
			task["path"] = string(t.Path)
		}
		task.set("startedAt", t.StartedAt)
		task.set("until", t.Until)
		if t.Attempt > 0 {
			task["attempt"] = t.Attempt
		}
		open = append(open, map[string]any(task))
	}
	if open != nil {
		o["open"] = open
	}
	if deadlines := deadlineValues(d); deadlines != nil {
		o["deadlines"] = deadlines
	}
	return o
}

// failureValue is the error of a run, with its category (promises.md 204).
func failureValue(s *interpreter.State) map[string]any {
	v, _ := errorValue(s.Fault).(map[string]any)
	failure := map[string]any{"error": v, "category": category(s.Fault)}
	if s.TimedOut { // then the member is the engine's own
		failure["timeoutKind"] = s.Fault.Extensions["timeoutKind"]
	}
	return failure
}

// category is the short name of a standard error, or application.
func category(e *errors.Error) string {
	if name := errors.StandardName(e.Type); name != "" {
		return name
	}
	return "application"
}

func deadlineValues(d *runtime.Description) (all []any) {
	for n, in := range d.Deadlines {
		v := object{"kind": in.Kind, "at": moment(in.At), "startedAt": moment(in.StartedAt), "leftSeconds": in.Left.Seconds(), "firesFirst": n == 0}
		v.set("pointer", string(in.Pointer))
		if in.Line > 0 {
			v["file"], v["line"] = in.File, in.Line
		}
		if in.CaughtBy == "" {
			v["uncaught"] = true
		} else {
			v["caughtBy"] = string(in.CaughtBy)
		}
		if in.Perhaps {
			v["conditional"] = true
		}
		if in.Held {
			v["held"] = true
		}
		all = append(all, map[string]any(v))
	}
	return all
}

// timeoutFields tells the timeouts of a run; one that is given as a point in time has no length.
func timeoutFields(o object, all []interpreter.Deadline) {
	for _, d := range all {
		if !d.Fixed {
			o[limitName(d)+"TimeoutSeconds"] = d.At.Sub(d.StartedAt).Seconds()
		}
	}
}

// deadlineFields tells when the timeouts of a run end it: of several of a kind, the first.
func deadlineFields(o object, all []interpreter.Deadline) {
	first := map[string]time.Time{}
	for _, d := range all {
		name := limitName(d) + "DeadlineAt"
		if before, ok := first[name]; !ok || d.At.Before(before) {
			first[name] = d.At
			o.set(name, d.At)
		}
	}
}

// limitName is what a run's own deadline is about: the document's timeout is one of the execution.
func limitName(d interpreter.Deadline) string {
	if d.Kind == interpreter.DeadlineRun {
		return "run"
	}
	return "execution"
}

// recordResource is one record of history.
func recordResource(i store.Instance, r interpreter.HistoryEvent, e runtime.HistoryEntry) object {
	o := object{"seq": r.Seq, "at": moment(r.At), "type": string(r.Type)}
	o.set("kind", string(r.Kind))
	o.set("pointer", string(r.Pointer))
	if r.Path != "" && string(r.Path) != string(r.Pointer) {
		o["path"] = string(r.Path)
	}
	o.set("child", startedChild(i, r))
	if r.Effect != 0 {
		o["effect"] = int(r.Effect)
	}
	if r.Attempt != 0 {
		o["attempt"] = r.Attempt
	}
	o.set("data", r.Data)
	if r.Error != nil {
		o["error"] = errorValue(r.Error)
	}
	o.set("by", string(r.By))
	o.set("timeoutKind", r.Timeout)
	timeoutFields(o, r.Deadlines)
	deadlineFields(o, r.Deadlines)
	o.set("until", r.Until)
	if !e.CommittedAt.IsZero() {
		o["committedAt"] = moment(e.CommittedAt)
		o["epoch"] = int(e.Token.Epoch)
	}
	return o
}

// normal returns data of this program as data of a workflow, which is what jq takes.
func normal(v any) any {
	switch v := v.(type) {
	case object:
		return normal(map[string]any(v))
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			members[name] = normal(member)
		}
		return members
	case []object:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = normal(item)
		}
		return items
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = normal(item)
		}
		return items
	case int64:
		return int(v)
	}
	plain, err := expr.Normalize(v)
	if err != nil {
		return v
	}
	return plain
}
