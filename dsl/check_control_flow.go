package dsl

// mayComplete reports whether the flow may continue after a task. It cannot if every path through the task raises an error or ends
// the workflow. An extension may replace any task, so in a document with extensions every task may complete.
func (c *checker) mayComplete(t Task) bool {
	return t.Base().If.Text != "" || len(c.w.Use.Extensions) > 0 || t.mayComplete(c)
}

func (c *checker) branchMayComplete(t Task) bool {
	return c.mayComplete(t) && (directiveOf(t.Base().Then) != DirectiveEnd || t.Base().If.Text != "")
}

// listMayComplete reports whether the flow may reach the end of a list, or leave it by exit.
func (c *checker) listMayComplete(tasks TaskList) bool {
	return c.reached(tasks)[len(tasks)]
}

// reached returns for each task of a list whether the flow may reach it. The last element is the end of the list.
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

// following returns the positions in the list where the flow may continue after a task; len(tasks) is the end of the list. The end
// of the workflow is not among them.
func (c *checker) following(tasks TaskList, i int) []int {
	var next []int
	for _, then := range c.directives(tasks[i]) {
		if position, ends := tasks.Following(i, then); !ends {
			next = append(next, position)
		}
	}
	return next
}

// directives returns the flow directives that may apply after a task.
func (c *checker) directives(t Task) (all []string) {
	base := t.Base()
	if base.If.Text != "" { // the `then` of a skipped task does not count (semantics 3.2)
		all = append(all, thenContinue)
	}
	if !c.mayComplete(t) {
		return all
	}
	own, exhaustive := t.jumps()
	for _, j := range own {
		all = append(all, j.then)
	}
	if exhaustive {
		return all
	}
	return append(all, base.Then)
}

// eachThen calls visit for every flow directive of a task, without the directives of the tasks inside it.
func eachThen(t Task, visit func(at Pointer, then string)) {
	base := t.Base()
	if base.Then != "" {
		visit(base.Pointer.Key("then"), base.Then)
	}
	own, _ := t.jumps()
	for _, j := range own {
		if j.then != "" {
			visit(j.at, j.then)
		}
	}
}

// mayLeave reports whether the flow may continue at another place than the next task.
func (c *checker) mayLeave(t Task) bool {
	leaves := !t.mayComplete(c)
	eachThen(t, func(_ Pointer, then string) { leaves = leaves || directiveOf(then) != DirectiveContinue })
	return leaves
}

// mayEnd reports whether a task, or a task inside it, may end the workflow.
func (c *checker) mayEnd(t Task) bool {
	ends := len(c.w.Use.Extensions) > 0 // an extension may end it around any task
	walkList(TaskList{t}, func(t Task) bool {
		eachThen(t, func(_ Pointer, then string) { ends = ends || directiveOf(then) == DirectiveEnd })
		ends = ends || t.Traits().Function != ""
		return !ends
	})
	return ends
}
