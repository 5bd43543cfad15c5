package dsl_test

import (
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestFlowDirectives: the next place of each directive, by the one function that rules, compiler and drawings use.
func TestFlowDirectives(t *testing.T) {
	list := dsl.TaskList{
		&dsl.SetTask{TaskBase: dsl.TaskBase{Name: "first"}},
		&dsl.SetTask{TaskBase: dsl.TaskBase{Name: "exit"}}, // SW132 warns of such a name
		&dsl.SetTask{TaskBase: dsl.TaskBase{Name: "last"}},
	}
	for name, c := range map[string]struct {
		tasks  dsl.TaskList
		at     int
		then   string
		want   dsl.Directive
		target int
		known  bool
		next   int
		ends   bool
	}{
		"an absent one":                {list, 0, "", dsl.DirectiveContinue, 0, true, 1, false},
		"continue":                     {list, 1, "continue", dsl.DirectiveContinue, 0, true, 2, false},
		"continue after the last task": {list, 2, "continue", dsl.DirectiveContinue, 0, true, 3, false},
		"exit, which is also a task":   {list, 0, "exit", dsl.DirectiveExit, 0, true, 3, false},
		"end":                          {list, 0, "end", dsl.DirectiveEnd, 0, true, 0, true},
		"a later task":                 {list, 0, "last", dsl.DirectiveTask, 2, true, 2, false},
		"an earlier task":              {list, 2, "first", dsl.DirectiveTask, 0, true, 0, false},
		"the task itself":              {list, 0, "first", dsl.DirectiveTask, 0, true, 0, false},
		"a task of another list":       {list, 0, "elsewhere", dsl.DirectiveTask, -1, false, 1, false},
		"a word in another case":       {list, 0, "End", dsl.DirectiveTask, -1, false, 1, false},
		"a word with white space":      {list, 0, " end", dsl.DirectiveTask, -1, false, 1, false},
		"a task, but no siblings":      {nil, 0, "first", dsl.DirectiveTask, -1, false, 1, false},
		"end, but no siblings":         {nil, 0, "end", dsl.DirectiveEnd, 0, true, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, target, known := c.tasks.Target(c.then)
			if d != c.want || target != c.target || known != c.known {
				t.Errorf("Target gives %v, %d, %v", d, target, known)
			}
			if next, ends := c.tasks.Following(c.at, c.then); next != c.next || ends != c.ends {
				t.Errorf("Following gives %d, %v", next, ends)
			}
		})
	}
}

// TestSiblings: the branches of a fork are not siblings.
func TestSiblings(t *testing.T) {
	list := dsl.TaskList{&dsl.SetTask{}}
	for name, c := range map[string]struct {
		owner dsl.Task
		want  int
	}{
		"of the workflow": {nil, 1},
		"of a do":         {&dsl.DoTask{}, 1},
		"of a fork":       {&dsl.ForkTask{}, 0},
	} {
		if got := dsl.Siblings(c.owner, list); len(got) != c.want {
			t.Errorf("%s: %d", name, len(got))
		}
	}
}
