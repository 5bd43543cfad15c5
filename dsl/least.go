package dsl

import (
	"slices"
	"time"
)

// least is the least time that a task takes without its own timeout, if nothing fails: waits are exact, branches take
// as long as the longest one, or the shortest if they compete, and all that depends on data or the outside counts
// for nothing.
func (c *checker) least(t Task) time.Duration {
	if t.Base().If != "" {
		return 0
	}
	switch t := t.(type) {
	case *WaitTask:
		d, _ := literal(t.Wait)
		return d
	case *DoTask:
		return c.lengthOf(t.Do)
	case *ForTask:
		items, inline := t.In.([]any)
		if inline && t.While == "" && !c.mayEnd(t) {
			return min(maxDuration/time.Duration(max(1, len(items))), c.lengthOf(t.Do)) * time.Duration(len(items))
		}
	case *ForkTask:
		return c.leastOfBranches(t)
	}
	return 0
}

func (c *checker) leastOfBranches(t *ForkTask) time.Duration {
	if len(t.Branches) == 0 || slices.ContainsFunc(t.Branches, c.mayEnd) {
		return 0
	}
	all := make([]time.Duration, len(t.Branches))
	for i, b := range t.Branches {
		all[i] = c.bounded(b)
	}
	if t.Compete {
		return slices.Min(all)
	}
	return slices.Max(all)
}

// bounded is the least time of a task with its own timeout.
func (c *checker) bounded(t Task) time.Duration {
	least := c.least(t)
	if limit, known := literal(c.w.TimeoutAfter(t.Base().Timeout)); known {
		least = min(least, limit)
	}
	return least
}

// lengthOf is the least time of a list, as far as it runs straight through.
func (c *checker) lengthOf(tasks TaskList) time.Duration {
	var sum time.Duration
	for _, t := range tasks {
		sum = min(sum+c.bounded(t), maxDuration)
		if c.mayLeave(t) || c.mayEnd(t) {
			break
		}
	}
	return sum
}

// mayLeave reports whether the flow may go on elsewhere than with the next task.
func (c *checker) mayLeave(t Task) bool {
	switch t := t.(type) {
	case *SwitchTask, *RaiseTask:
		return true
	case *TryTask:
		if directiveOf(t.Catch.Then) != DirectiveContinue {
			return true
		}
	}
	return directiveOf(t.Base().Then) != DirectiveContinue
}

// mayEnd reports whether a task, or one inside it, may end the workflow.
func (c *checker) mayEnd(t Task) bool {
	ends := len(c.w.Use.Extensions) > 0 // they may end it around any task
	walkTask(t, func(t Task) bool {
		c.eachThen(t, func(_ Pointer, then string) { ends = ends || directiveOf(then) == DirectiveEnd })
		_, calls := t.(*CallFunction)
		ends = ends || calls
		return !ends
	})
	return ends
}
