package dsl

import (
	"slices"
	"strings"
)

// consequences takes out what only follows from errors that Parse has told: findings about a task that is broken
// itself, and those that were drawn from what is missing there.
func (c *checker) consequences() {
	if len(c.w.Source.broken) == 0 {
		return
	}
	tasks := map[Pointer]bool{}
	Walk(c.w, func(t Task) bool {
		tasks[t.Base().Pointer] = true
		return true
	})
	var broken []Pointer // the innermost tasks around the errors; empty is outside of all
	for _, at := range c.w.Source.broken {
		if own := taskAround(tasks, at); own != "" || matters(at) {
			broken = append(broken, own)
		}
	}
	c.found = slices.DeleteFunc(c.found, func(d Diagnostic) bool {
		own := taskAround(tasks, d.Pointer)
		return slices.ContainsFunc(broken, func(b Pointer) bool { return follows(d.Code, own, b) })
	})
}

// matters reports whether an error outside of all tasks may leave them without something: a misspelt section, what
// is under use, the workflow's timeout wherever it was written.
func matters(at Pointer) bool {
	return strings.Count(string(at), "/") < 2 || within(at, "/use") || within(at, "/timeout") || within(at, "/document/timeout")
}

// taskAround returns the pointer of the innermost task that holds a place, or "".
func taskAround(tasks map[Pointer]bool, at Pointer) Pointer {
	for at != "" && !tasks[at] {
		at = at[:max(0, strings.LastIndexByte(string(at), '/'))]
	}
	return at
}

// follows reports whether a finding about one task may come from an error in another.
func follows(code string, own, broken Pointer) bool {
	switch {
	case own == broken && own != "":
		return true
	case code == "SW202", code == "SW205", code == "SW206": // drawn from the whole list, or the whole document
		return true
	case code == "SW203":
		return broken == "" // what it names may be what is broken
	case code == "SW402", code == "SW405", strings.HasPrefix(code, "SW3"):
		return broken == "" || within(own, broken) || within(broken, own)
	}
	return false
}

// within reports whether a place is another one, or inside it.
func within(at, outer Pointer) bool {
	return at == outer || strings.HasPrefix(string(at), string(outer)+"/")
}
