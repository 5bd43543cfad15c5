package dsl

import (
	"fmt"

	"github.com/swrun/swrun/dsl/source"
)

// walkScopes calls visit for every task with the scope around it.
func (c *checker) walkScopes(visit func(t Task, outer scope)) {
	c.scopes(c.w.Do, c.inside(scope{}, c.w.Timeout), visit)
	unknown := scope{bounded: true} // a function or extension runs at every place that uses it
	for _, name := range sortedKeys(c.w.Use.Functions) {
		c.scopes(TaskList{c.w.Use.Functions[name]}, unknown, visit)
	}
	for _, e := range c.w.Use.Extensions {
		c.scopes(e.Before, unknown, visit)
		c.scopes(e.After, unknown, visit)
	}
}

// scopes calls visit for every task of a list and of the lists inside it.
func (c *checker) scopes(tasks TaskList, outer scope, visit func(t Task, outer scope)) {
	for _, t := range tasks {
		visit(t, outer)
		inner := c.inside(outer, t.Base().Timeout)
		lists := t.boundedLists(c, inner)
		if lists == nil {
			for _, l := range Lists(t) {
				lists = append(lists, boundedList{l, inner})
			}
		}
		for _, l := range lists {
			c.scopes(l.tasks, l.scope, visit)
		}
	}
}

// limitedBy returns s, bounded by a limit of a retry policy too. A limit of zero is no limit.
func (s scope) limitedBy(d *Duration) scope {
	if d == nil || d.IsZero() {
		return s
	}
	s.bounded = true
	if limit, known := knownLength(d); known && (s.limit == 0 || limit < s.limit) {
		s.limit, s.at = limit, d.Pointer
	}
	return s
}

// checkBounds: SW307 tasks that may take forever, SW309 loops of unknown length under a timeout.
func checkBounds(c *checker) {
	first := true
	c.walkScopes(func(t Task, outer scope) {
		if loop, ok := t.(*ForTask); ok {
			c.unknownPasses(loop)
		}
		if outer.bounded || t.Base().Timeout != nil || !c.unbounded(t, 0) {
			return
		}
		d := Diagnostic{
			Code: "SW307", Pointer: t.Base().Pointer, Range: c.w.Source.Key(t.Base().Pointer),
			Message: fmt.Sprintf("nothing bounds how long `%s` takes", t.Base().Name), Help: "give it, something around it, or the workflow a timeout",
		}
		if first { // one timeout is enough for all
			d.Fix, first = c.appendTimeout(), false
		}
		c.add(d)
	})
}

// unbounded reports whether the duration of a task itself, or of the function that it runs, depends on the other side; depth counts functions.
func (c *checker) unbounded(t Task, depth int) bool {
	traits := t.Traits()
	function := c.w.Use.Functions[traits.Function]
	const deepest = 8 // functions may call each other in circles
	if function == nil || depth == deepest {
		return traits.Unbounded
	}
	found := false
	c.scopes(TaskList{function}, scope{}, func(t Task, outer scope) {
		found = found || !outer.bounded && t.Base().Timeout == nil && c.unbounded(t, depth+1)
	})
	return found
}

func (c *checker) unknownPasses(loop *ForTask) {
	if _, inline := loop.In.Data.([]any); !inline && loop.Timeout != nil {
		c.add(Diagnostic{Code: "SW309", Pointer: loop.Timeout.Pointer,
			Message: fmt.Sprintf("how many items `%s` goes through is not known, and the timeout is for all of them", loop.Name)})
	}
}

// checkRaces: SW309, branches that compete and have effects, which stay when another branch wins.
func checkRaces(c *checker) {
	Walk(c.w, func(t Task) bool {
		fork, ok := t.(*ForkTask)
		if !ok || !fork.Compete || len(fork.Branches) < 2 {
			return true
		}
		for _, b := range fork.Branches {
			if effect := effectOf(b); effect != nil {
				c.add(Diagnostic{Code: "SW309", Pointer: effect.Base().Pointer, Range: c.w.Source.Key(effect.Base().Pointer),
					Message: fmt.Sprintf("when another branch wins the race, `%s` may be half done, or done", effect.Base().Name),
					Help:    "only read in branches that compete, or undo what the losing ones have done"})
			}
		}
		return true
	})
}

// effectOf returns the first task of a branch that changes something outside, or nil.
func effectOf(branch Task) Task {
	var effect Task
	walkList(TaskList{branch}, func(t Task) bool {
		if t.Traits().ChangesOutside {
			effect = t
		}
		return effect == nil
	})
	return effect
}

// appendTimeout adds a timeout to the workflow, at the end of the document.
func (c *checker) appendTimeout() []source.Edit {
	text := c.w.Source.Text
	if len(text) == 0 || text[0] == '{' {
		return nil
	}
	addition := "timeout:\n  after: PT5M\n"
	if text[len(text)-1] != '\n' {
		addition = "\n" + addition
	}
	return onlyIf(false, []source.Edit{c.w.Source.Insert(len(text), addition)})
}
