package interpreter

import "github.com/swrun/swrun/dsl"

// This file finds the task at which a run failed, and the task from which it can continue.

// FailedTask returns the innermost task at which an uncompleted run ended, by its history; ok is false if the run ended outside of its tasks.
func FailedTask(steps []HistoryStep) (at HistoryEvent, ok bool) {
	if len(steps) == 0 {
		return at, false
	}
	events := steps[len(steps)-1].Events
	for n := len(events) - 1; n >= 0; n-- {
		switch events[n].Type {
		case WorkflowFaulted, WorkflowCancelled:
		case TaskFaulted, TaskCancelled:
			at, ok = events[n], true
		default:
			return at, ok
		}
	}
	return at, ok
}

// LastStarted returns the pointer of the task that began last; empty if none began.
func LastStarted(steps []HistoryStep) (last dsl.Pointer) {
	for _, e := range steps {
		for _, r := range e.Events {
			if r.Type == TaskStarted {
				last = r.Pointer
			}
		}
	}
	return last
}

// FirstAttempt returns the first occurrence of a task, before all its repetitions by retries. A fork that gets all attempts again continues from
// there. The task is named by a pointer; of several occurrences, the last one counts. If the task is in a branch of a fork that was itself repeated,
// the occurrence belongs to the last repetition, so that work which other branches completed counts.
func FirstAttempt(steps []HistoryStep, task dsl.Pointer) (path Path, ok bool) {
	var last Path
	forks := map[Path]bool{}
	for _, e := range steps {
		for _, r := range e.Events {
			switch {
			case r.Type != TaskStarted:
			case r.Pointer == task:
				last = r.Path
			case r.Kind == dsl.KindFork:
				forks[r.Path] = true
			}
		}
	}
	if last == "" {
		return "", false
	}
	fork := innermostAround(last, forks)
	for _, e := range steps {
		for _, r := range e.Events {
			if r.Type == TaskStarted && r.Path.WithoutRetries() == last.WithoutRetries() && (fork == "" || r.Path.IsIn(fork)) {
				return r.Path, true
			}
		}
	}
	return last, true
}

// innermostAround returns the longest of some paths that contain a path; empty if no path contains it.
func innermostAround(p Path, all map[Path]bool) (longest Path) {
	for around := range all {
		if p.IsIn(around) && len(around) > len(longest) {
			longest = around
		}
	}
	return longest
}

// HasTasks reports whether any task began in a history.
func HasTasks(steps []HistoryStep) bool { return LastStarted(steps) != "" }
