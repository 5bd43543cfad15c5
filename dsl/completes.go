package dsl

import "slices"

// completes reports whether the flow may come out of a task: not if it raises an error on every way through it, or
// ends the workflow there. Extensions may take the place of any task, so with them all may complete.
func (c *checker) completes(t Task) bool {
	if t.Base().If != "" || len(c.w.Use.Extensions) > 0 {
		return true
	}
	switch t := t.(type) {
	case *RaiseTask:
		return false
	case *DoTask:
		return c.listCompletes(t.Do)
	case *ForkTask:
		return t.Compete || !slices.ContainsFunc(t.Branches, func(b Task) bool { return !c.branchCompletes(b) })
	case *TryTask: // which errors are caught is not asked here
		return c.listCompletes(t.Try) || c.listCompletes(t.Catch.Do)
	}
	return true
}

func (c *checker) branchCompletes(t Task) bool {
	return c.completes(t) && (directiveOf(t.Base().Then) != DirectiveEnd || t.Base().If != "")
}

// listCompletes reports whether the flow may come to the end of a list, or leave it by exit.
func (c *checker) listCompletes(tasks TaskList) bool {
	return c.reached(tasks)[len(tasks)]
}

// reached tells which tasks of a list the flow may come to, and in the end whether it may come to the end of the list.
func (c *checker) reached(tasks TaskList) []bool {
	seen := make([]bool, len(tasks)+1)
	for open := []int{0}; len(open) > 0; {
		i := open[0]
		open = open[1:]
		if seen[i] {
			continue
		}
		if seen[i] = true; i < len(tasks) {
			open = append(open, c.following(tasks, i)...)
		}
	}
	return seen
}

// following returns the positions to which the flow may go on from a task, len(tasks) standing for the end of the
// list; the end of the workflow is none.
func (c *checker) following(tasks TaskList, i int) []int {
	var next []int
	for _, then := range c.directions(tasks[i]) {
		if position, ends := tasks.Following(i, then); !ends {
			next = append(next, position)
		}
	}
	return next
}

// directions returns the flow directives that may apply after a task.
func (c *checker) directions(t Task) []string {
	var all []string
	base := t.Base()
	if base.If != "" { // of a task that is skipped, `then` does not count (semantics 3.2)
		all = append(all, ThenContinue)
	}
	if !c.completes(t) {
		return all
	}
	switch t := t.(type) {
	case *SwitchTask:
		hasDefault := false
		for _, one := range t.Cases {
			hasDefault = hasDefault || one.When == ""
			all = append(all, one.Then)
		}
		if hasDefault {
			return all
		}
	case *TryTask:
		if t.Catch.Then != "" {
			all = append(all, t.Catch.Then)
		}
	}
	return append(all, base.Then)
}
