package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/suggest"
)

// checkNames: SW204, two tasks of a list with the same name.
func checkNames(c *checker) {
	c.lists(func(_ Task, tasks TaskList) {
		for i, t := range tasks {
			if first := tasks.index(t.Base().Name); first < i {
				d := Diagnostic{
					Code: "SW204", Pointer: t.Base().Pointer, Range: c.w.Source.Key(t.Base().Pointer),
					Message: fmt.Sprintf("two tasks of this list are called `%s`", t.Base().Name),
					Related: related(c.w.Source.Key(tasks[first].Base().Pointer), "the first one"),
					Help:    "rename one of them",
				}
				if d.Range == c.w.Source.Key(tasks[first].Base().Pointer) { // one text, used by aliases
					d.Related, d.Help = nil, "an alias repeats the name too: put the anchor behind the name, and write `- another: *anchor`"
				}
				c.addAs(SeverityError, d)
			}
		}
	})
}

// checkDirectives: SW201, a flow directive that names no task of its list.
func checkDirectives(c *checker) {
	c.lists(func(owner Task, tasks TaskList) {
		for _, t := range tasks {
			eachThen(t, func(at Pointer, then string) { c.directive(at, then, Siblings(owner, tasks)) })
		}
	})
	for _, name := range sortedKeys(c.w.Use.Functions) {
		eachThen(c.w.Use.Functions[name], func(at Pointer, then string) { c.directive(at, then, nil) })
	}
}

func (c *checker) directive(at Pointer, then string, siblings TaskList) {
	if _, _, ok := siblings.Target(then); ok {
		return
	}
	if slices.ContainsFunc(names(siblings), func(name string) bool { return plainText(name) == then && oneLine(name) != name }) {
		return // Parse reports the invisible character in that name
	}
	d := UndefinedTarget(at, then)
	if len(siblings) == 0 {
		d.Help = "a branch or function stands alone; only continue, exit and end mean something here"
		c.add(d)
		return
	}
	d.Help = fmt.Sprintf("tasks here: %s; or continue, exit, end", strings.Join(names(siblings), ", "))
	candidates := append(names(siblings), directiveWords()...)
	d = c.withSuggestion(d, candidates)
	if i := siblings.index(suggest.Nearest(then, candidates)); i >= 0 {
		task := siblings[i].Base()
		d.Label = fmt.Sprintf("did you mean `%s` (line %d)?", task.Name, c.w.Source.Key(task.Pointer).Start.Line)
	}
	if help := otherDirective(then); help != "" {
		d.Label, d.Fix, d.Help = "", nil, help
	}
	c.add(d)
}

// checkReachable: SW202, tasks that nothing leads to.
func checkReachable(c *checker) {
	c.lists(func(owner Task, tasks TaskList) {
		if len(Siblings(owner, tasks)) == 0 {
			return
		}
		reached := c.reached(tasks)
		for i, t := range tasks {
			if !reached[i] && (i == 0 || reached[i-1]) { // only the first of several in a row
				c.add(Diagnostic{
					Code: "SW202", Pointer: t.Base().Pointer, Range: c.w.Source.Key(t.Base().Pointer),
					Message: fmt.Sprintf("nothing leads to the task `%s`", t.Base().Name),
					Help:    "the task before it always goes elsewhere, and no `then` names this one",
				})
			}
		}
	})
}

// checkLoops: SW206, a loop by `then` that nothing can end or slow down.
func checkLoops(c *checker) {
	c.lists(func(_ Task, tasks TaskList) {
		for i, t := range tasks {
			d, target, ok := tasks.Target(t.Base().Then)
			if d != DirectiveTask || !ok || target > i || !c.alwaysGoes(tasks[target:i+1], target, tasks) {
				continue
			}
			message, help := "`then: %s` makes a loop without a wait, an event or a way out", "add a switch that leaves it, or a wait"
			if slices.ContainsFunc(tasks[target:i+1], waitsForNothing) {
				message, help = "`then: %s` makes a loop whose wait takes no time, without an event or a way out", "add a switch that leaves it, or make the wait longer"
			}
			c.add(Diagnostic{Code: "SW206", Pointer: t.Base().Pointer.Key("then"), Message: fmt.Sprintf(message, t.Base().Then), Help: help})
		}
	})
}

// alwaysGoes reports whether each task of a loop always continues with the next task, immediately.
func (c *checker) alwaysGoes(loop TaskList, first int, tasks TaskList) bool {
	for i, t := range loop {
		if !t.Traits().Instant && !waitsForNothing(t) || t.Base().If.Text != "" {
			return false
		}
		if next := c.following(tasks, first+i); len(next) != 1 || i < len(loop)-1 && next[0] != first+i+1 {
			return false
		}
	}
	return true
}

// waitsForNothing reports whether a task is a wait of zero duration.
func waitsForNothing(t Task) bool {
	wait, is := t.(*WaitTask)
	if !is {
		return false
	}
	length, known := knownLength(wait.Wait)
	return known && length == 0
}

// checkSwitches: SW204, switches without a default case, with several, or with a default case before other cases.
func checkSwitches(c *checker) {
	Walk(c.w, func(t Task) bool {
		task, ok := t.(*SwitchTask)
		if !ok {
			return true
		}
		first := -1
		for i, one := range task.Cases {
			switch {
			case one.When.Text == "" && first >= 0:
				c.addAs(SeverityError, Diagnostic{
					Code: "SW204", Pointer: one.Pointer, Range: c.w.Source.Key(one.Pointer), Message: "a switch has one default case at most",
					Related: related(c.w.Source.Key(task.Cases[first].Pointer), "the first one"), Help: "a case without `when` is the default",
				})
			case one.When.Text == "":
				first = i
			case first >= 0:
				c.addAs(SeverityWarning, Diagnostic{
					Code: "SW204", Pointer: one.Pointer, Range: c.w.Source.Key(one.Pointer),
					Message: fmt.Sprintf("the case `%s` stands after the default, and is still tried before it", one.Name),
					Help:    "move the default to the end",
				})
			}
		}
		if first < 0 && task.Then == "" {
			c.addAs(SeverityWarning, Diagnostic{
				Code: "SW204", Pointer: task.Pointer, Range: c.w.Source.Key(task.Pointer), Message: "the switch has no default case",
				Help: "if no case holds, the flow goes on with the next task",
			})
		}
		return true
	})
}

// checkForks: SW124, a fork that competes but has no branches.
func checkForks(c *checker) {
	Walk(c.w, func(t Task) bool {
		if fork, ok := t.(*ForkTask); ok {
			if d, wrong := fork.HasNoWinner(); wrong {
				c.add(d)
			}
		}
		return true
	})
}
