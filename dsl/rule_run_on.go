package dsl

import (
	"fmt"
	"maps"
	"slices"

	"github.com/swrun/swrun/internal/delimited"
)

// checkRunOn: SW207, tasks to which cases of one switch lead, and of which one runs on into the next.
func checkRunOn(c *checker) {
	c.lists(func(_ Task, tasks TaskList) {
		for _, t := range tasks {
			if task, ok := t.(*SwitchTask); ok {
				c.runOn(task, tasks)
			}
		}
	})
}

func (c *checker) runOn(task *SwitchTask, tasks TaskList) {
	targets := map[int]string{} // the names of cases by the positions to which they lead
	for _, one := range task.Cases {
		if d, i, ok := tasks.Target(one.Then); ok && d == DirectiveTask {
			targets[i] = one.Name
		}
	}
	positions := slices.Sorted(maps.Keys(targets))
	all := len(positions) > 2 // three in a row without an end are not steps that a case may skip
	for i := 1; i < len(positions) && all; i++ {
		all = c.runsInto(tasks, positions[i-1], positions[i])
	}
	for i := 1; i < len(positions); i++ {
		from, to := positions[i-1], positions[i]
		if !c.runsInto(tasks, from, to) {
			continue
		}
		severity := SeverityInfo
		if all || alike(tasks[from], tasks[to]) {
			severity = SeverityWarning
		}
		first, next := tasks[from].Base(), tasks[to].Base()
		c.addAs(severity, Diagnostic{Code: "SW207", Pointer: first.Pointer, Range: c.w.Source.Key(first.Pointer),
			Message: fmt.Sprintf("after `%s`, the flow runs on into `%s`, which the case `%s` leads to", first.Name, next.Name, targets[to]),
			Related: related(c.w.Source.Key(task.Pointer), "the switch"), Help: fmt.Sprintf("add `then` to `%s`: end, exit, or the task where the cases meet", first.Name)})
	}
}

// runsInto reports whether the flow leads from a task to a later one without any directive.
func (c *checker) runsInto(tasks TaskList, from, to int) bool {
	for i := from; i < to; i++ {
		if next := c.following(tasks, i); len(next) != 1 || next[0] != i+1 || tasks[i].Base().Then != "" {
			return false
		}
	}
	return true
}

// alike reports whether two tasks do the same with other values, so that they are alternatives and not steps.
func alike(a, b Task) bool {
	one, ok := a.(*SetTask)
	if !ok || a.Base().Output != nil {
		return false
	}
	other, ok := b.(*SetTask)
	if !ok {
		return false
	}
	left, _ := one.Set.Data.(map[string]any)
	right, _ := other.Set.Data.(map[string]any)
	return len(left) > 0 && slices.Equal(sortedKeys(left), sortedKeys(right))
}

// checkContainerNames: SW208, a container whose name stays taken after its run.
func checkContainerNames(c *checker) {
	Walk(c.w, func(t Task) bool {
		kept := t.Traits().KeptName
		if name := kept.Text(); name != "" && !delimited.Is(name) {
			c.add(Diagnostic{Code: "SW208", Pointer: kept.Pointer,
				Message: fmt.Sprintf("the container stays after it has ended, and the next one cannot be called `%s`", name),
				Help:    "add `lifetime: { cleanup: always }`, leave `name` out, or compute it: `${ \"" + name + "-\" + $workflow.id }`"})
		}
		return true
	})
}
