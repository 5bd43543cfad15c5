package api

import (
	"bytes"
	"maps"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
)

// SchemaTask is the `schema` of a TaskRecord.
const SchemaTask = "swrun/v1/task"

// TaskRecord is the history of one occurrence of a task: its data, and its changes.
type TaskRecord struct {
	Schema   string `json:"schema"`
	Run      string `json:"run"`
	Kind     string `json:"kind"`
	Pointer  string `json:"pointer"`
	Path     string `json:"path,omitempty"` // if it differs from Pointer
	Status   string `json:"status" enum:"in progress,completed,faulted,cancelled"`
	Attempts int    `json:"attempts,omitempty" doc:"Of its effect."`
	TaskData
	Error   any            `json:"error,omitempty"`
	Records []HistoryEvent `json:"records" nullable:"false" doc:"Its records, in their order."`
}

// TaskData is the data of an occurrence of a task. Absent members have no value yet, or are not known.
type TaskData struct {
	Input            any      `json:"input" doc:"The input of the task before input.from."`
	TransformedInput *any     `json:"transformedInput,omitempty" doc:"The input of the task after input.from."`
	RawOutput        *any     `json:"rawOutput,omitempty" doc:"The output of the task before output.as."`
	Output           *any     `json:"output,omitempty" doc:"The output of the task after output.as."`
	ContextBefore    *any     `json:"contextBefore,omitempty" doc:"$context as it saw it when it began."`
	ContextAfter     *any     `json:"contextAfter,omitempty" doc:"The same, when it had completed."`
	ContextChanges   []Change `json:"contextChanges,omitempty" doc:"The differences between them."`
	Incomplete       string   `json:"incomplete,omitempty" doc:"Why a part of it is not known."`
}

// Change is a part of a value that has changed.
type Change struct {
	Pointer string `json:"pointer" doc:"JSON pointer of the part; empty for all of it."`
	Before  *any   `json:"before,omitempty" doc:"Absent if it was not there."`
	After   *any   `json:"after,omitempty" doc:"Absent if it is not there any more."`
}

// Changes returns the differences of two values: the members of objects one by one, in their order, and everything else as a whole.
func Changes(before, after any) []Change { return appendChanges(nil, "", &before, &after) }

func appendChanges(all []Change, pointer dsl.Pointer, before, after *any) []Change {
	old, isObject := object(before)
	now, stays := object(after)
	if !isObject || !stays {
		if !sameJSON(before, after) {
			all = append(all, Change{string(pointer), before, after})
		}
		return all
	}
	names := map[string]bool{}
	for name := range old {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = appendChanges(all, pointer.Key(name), member(old, name), member(now, name))
	}
	return all
}

func sameJSON(a, b *any) bool {
	if a == nil || b == nil {
		return a == b
	}
	one, err := expr.Encode(*a)
	if err != nil {
		return false
	}
	other, err := expr.Encode(*b)
	return err == nil && bytes.Equal(one, other)
}

func object(v *any) (map[string]any, bool) {
	if v == nil {
		return nil, false
	}
	o, ok := (*v).(map[string]any)
	return o, ok
}

func member(o map[string]any, name string) *any {
	v, ok := o[name]
	if !ok {
		return nil
	}
	return &v
}
