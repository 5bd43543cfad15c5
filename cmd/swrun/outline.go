package main

import (
	"strings"

	"github.com/swrun/swrun/dsl"
)

// This file knows which tasks stand inside which.

// block is one of the lists of tasks that a task holds.
type block struct {
	slot  string // below the task: do, try, catch/do, fork/branches
	tasks dsl.TaskList
}

// blocksOf returns the lists of tasks of t, in the order of the text.
func blocksOf(t dsl.Task) []block {
	switch t := t.(type) {
	case *dsl.DoTask:
		return []block{{"do", t.Do}}
	case *dsl.ForTask:
		return []block{{"do", t.Do}}
	case *dsl.ForkTask:
		return []block{{"fork/branches", t.Branches}}
	case *dsl.TryTask:
		return []block{{"try", t.Try}, {"catch/do", t.Catch.Do}}
	case *dsl.ListenTask:
		if t.ForEach != nil {
			return []block{{"foreach/do", t.ForEach.Do}}
		}
	}
	return nil
}

// eachTask calls visit with every task of w, outer ones first.
func eachTask(w *dsl.Workflow, visit func(dsl.Task)) {
	var walk func(dsl.TaskList)
	walk = func(list dsl.TaskList) {
		for _, t := range list {
			visit(t)
			for _, b := range blocksOf(t) {
				walk(b.tasks)
			}
		}
	}
	walk(w.Do)
	for _, e := range w.Use.Extensions {
		walk(e.Before)
		walk(e.After)
	}
	for _, f := range w.Use.Functions {
		if f != nil {
			walk(dsl.TaskList{f})
		}
	}
}

func triesOf(w *dsl.Workflow) map[dsl.Pointer]*dsl.TryTask {
	tries := map[dsl.Pointer]*dsl.TryTask{}
	eachTask(w, func(t dsl.Task) {
		if try, ok := t.(*dsl.TryTask); ok {
			tries[try.Pointer] = try
		}
	})
	return tries
}

func taskAt(w *dsl.Workflow, p dsl.Pointer) (found dsl.Task) {
	eachTask(w, func(t dsl.Task) {
		if t.Base().Pointer == p {
			found = t
		}
	})
	return found
}

// inside reports whether p stands in the given slot of the task at outer.
func inside(p, outer dsl.Pointer, slot string) bool {
	return strings.HasPrefix(string(p), string(outer)+"/"+slot+"/")
}
