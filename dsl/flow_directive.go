package dsl

import (
	"fmt"
	"strings"
)

// Directive is the next place of the flow after a task (DSL reference, "Flow directive").
type Directive uint8

// The directives. The zero value continues with the next task.
const (
	DirectiveContinue Directive = iota
	DirectiveExit               // from the list of tasks
	DirectiveEnd                // of the workflow
	DirectiveTask               // of the same list
)

// The words for the directives; any other text is the name of a task.
const (
	thenContinue = "continue"
	thenExit     = "exit"
	thenEnd      = "end"
)

func directiveWords() []string { return []string{thenContinue, thenExit, thenEnd} }

// directiveOf returns the directive of a text. An empty text means that it is absent, so the flow continues.
func directiveOf(then string) Directive {
	switch then {
	case "", thenContinue:
		return DirectiveContinue
	case thenExit:
		return DirectiveExit
	case thenEnd:
		return DirectiveEnd
	}
	return DirectiveTask
}

// Target resolves a flow directive of a task in l. For DirectiveTask, index is the position of the named task; ok is false if no task has that name.
func (l TaskList) Target(then string) (d Directive, index int, ok bool) {
	if d = directiveOf(then); d != DirectiveTask {
		return d, 0, true
	}
	index = l.index(then)
	return d, index, index >= 0
}

// otherDirective returns the replacement of a directive of other languages, or "".
func otherDirective(then string) string {
	switch {
	case strings.Contains(then, "${"):
		return "a directive cannot be computed: write a `switch` with a case for each task"
	case contains([]string{"stop", "return", "finish", "done", "terminate", "finished", "completed", "success"}, strings.ToLower(then)):
		return "write `then: end` to end the workflow"
	case then == "break":
		return "write `then: exit` to leave this list of tasks; `while` of a `for` says how long it goes on"
	case strings.ToLower(then) == "next":
		return "leave `then` out to go on with the next task"
	}
	return ""
}

// UndefinedTarget returns the diagnostic for a flow directive that names no task of its list.
func UndefinedTarget(at Pointer, then string) Diagnostic {
	return Diagnostic{Code: "SW201", Pointer: at, Message: fmt.Sprintf("`then: %s` names no task in this list", then)}
}

// Following returns the position in l at which the flow continues after the task at i with a flow directive: len(l) is the end of the list. ends is
// true if it ends the workflow instead. A directive that names no task counts as absent.
func (l TaskList) Following(i int, then string) (next int, ends bool) {
	switch d, index, ok := l.Target(then); {
	case d == DirectiveExit:
		return len(l), false
	case d == DirectiveEnd:
		return 0, true
	case d == DirectiveTask && ok:
		return index, false
	}
	return i + 1, false
}

// Siblings returns the tasks of l that a flow directive in l may name. The owner of l is a task, or nil for the workflow. The branches of a fork may
// not name each other: each is a list of its own.
func Siblings(owner Task, l TaskList) TaskList {
	if owner != nil && owner.Traits().Branches {
		return nil
	}
	return l
}
