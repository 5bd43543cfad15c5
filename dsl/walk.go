package dsl

import (
	"maps"
	"slices"
)

// Walk calls visit for every task of the workflow, in the order of the document's usual layout: extensions and
// functions, then the tasks; a task comes before the tasks inside it. If visit returns false, what is inside the
// task is left out.
func Walk(w *Workflow, visit func(Task) bool) {
	for _, e := range w.Use.Extensions {
		walkList(e.Before, visit)
		walkList(e.After, visit)
	}
	for _, name := range sortedKeys(w.Use.Functions) {
		walkTask(w.Use.Functions[name], visit)
	}
	walkList(w.Do, visit)
}

// TaskAt returns the task at a pointer, or nil.
func TaskAt(w *Workflow, p Pointer) (found Task) {
	Walk(w, func(t Task) bool {
		if t.Base().Pointer == p {
			found = t
		}
		return found == nil
	})
	return found
}

func walkList(l TaskList, visit func(Task) bool) {
	for _, t := range l {
		walkTask(t, visit)
	}
}

func walkTask(t Task, visit func(Task) bool) {
	if !visit(t) {
		return
	}
	for _, l := range Lists(t) {
		walkList(l, visit)
	}
}

// Lists returns the lists of tasks that a task holds, in the order of the document.
func Lists(t Task) []TaskList {
	switch t := t.(type) {
	case *DoTask:
		return []TaskList{t.Do}
	case *ForTask:
		return []TaskList{t.Do}
	case *ForkTask:
		return []TaskList{t.Branches}
	case *TryTask:
		return []TaskList{t.Try, t.Catch.Do}
	case *ListenTask:
		if t.ForEach != nil {
			return []TaskList{t.ForEach.Do}
		}
	case *CallAsyncAPI:
		if t.Subscription != nil && t.Subscription.ForEach != nil {
			return []TaskList{t.Subscription.ForEach.Do}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
