package dsl

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWalkVisitsEveryTask compares Walk with a search through the whole tree by reflection, for the document that
// uses every kind of task and every place for tasks.
func TestWalkVisitsEveryTask(t *testing.T) {
	w := mustEverything(t)
	var got []Pointer
	kinds := map[Kind]bool{}
	Walk(w, func(task Task) bool {
		got = append(got, task.Base().Pointer)
		kinds[task.Kind()] = true
		return true
	})
	var want []Pointer
	tasksIn(reflect.ValueOf(*w), &want)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("tasks of the tree (-) and those that Walk visits (+):\n%s", diff)
	}
	for _, kind := range Kinds() {
		if !kinds[kind] {
			t.Errorf("the document has no task of kind %s", kind)
		}
	}
}

// TestEveryListOfTasksIsFilled: the document has a task in every place of the tree where tasks can be, so that the
// comparison above misses none.
func TestEveryListOfTasksIsFilled(t *testing.T) {
	filled := map[string]bool{}
	listsIn(reflect.ValueOf(*mustEverything(t)), "Workflow", filled)
	for _, place := range []string{
		"Workflow.Do", "DoTask.Do", "ForTask.Do", "ForkTask.Branches", "TryTask.Try", "Catch.Do", "Iterator.Do", "Extension.Before",
		"Extension.After",
	} {
		if !filled[place] {
			t.Errorf("no tasks in %s", place)
		}
		delete(filled, place)
	}
	if len(filled) > 0 {
		t.Errorf("new places for tasks, does Walk know them? %v", filled)
	}
}

// TestWalkLeavesOut: the tasks inside a task are left out if visit returns false.
func TestWalkLeavesOut(t *testing.T) {
	var got []string
	Walk(mustEverything(t), func(task Task) bool {
		got = append(got, string(task.Base().Pointer))
		return task.Kind() != KindTry
	})
	if slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, "/try/") || strings.Contains(p, "/catch/") }) {
		t.Error("visited what is inside a try")
	}
}

var taskType = reflect.TypeFor[Task]()

// tasksIn collects the pointers of the tasks in v.
func tasksIn(v reflect.Value, found *[]Pointer) {
	switch v.Kind() {
	case reflect.Interface:
		if task, ok := v.Interface().(Task); ok {
			*found = append(*found, task.Base().Pointer)
		}
	}
	eachInside(v, func(inner reflect.Value, _ string) { tasksIn(inner, found) })
}

// listsIn collects the fields that hold tasks, as Type.Field.
func listsIn(v reflect.Value, name string, filled map[string]bool) {
	if v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem() == taskType {
		filled[name] = true
	}
	eachInside(v, func(inner reflect.Value, field string) {
		if field == "" {
			field = name
		}
		listsIn(inner, field, filled)
	})
}
