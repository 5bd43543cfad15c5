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
	var broken []mistake
	for _, at := range c.w.Source.broken {
		if own := taskAround(tasks, at); own != "" || matters(at) {
			broken = append(broken, mistake{at, own})
		}
	}
	c.found = slices.DeleteFunc(c.found, func(d Diagnostic) bool {
		own := taskAround(tasks, d.Pointer)
		return slices.ContainsFunc(broken, func(m mistake) bool { return m.explains(d, own) })
	})
}

// mistake is an error that Parse has told.
type mistake struct {
	at   Pointer
	task Pointer // the innermost task around it; empty is outside of all
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

// explains reports whether a finding about a task may come from the mistake. Names that nothing has are told beside it, unless
// the mistake is what keeps them from being known.
func (m mistake) explains(d Diagnostic, own Pointer) bool {
	switch code := d.Code; code {
	case "SW202", "SW205", "SW206": // drawn from the whole list, or the whole document
		return true
	case "SW203":
		return within(m.at, "/use") || m.isUnknownSection() || m.sharesPlace(d)
	case "SW201", "SW502", "SW602":
		return m.sharesPlace(d)
	case "SW503":
		return within(own, m.task) && m.mayBind() || m.sharesPlace(d)
	case "SW402", "SW405":
		return m.surrounds(own)
	default:
		return own == m.task && own != "" || strings.HasPrefix(code, "SW3") && m.surrounds(own)
	}
}

// sharesPlace reports whether a finding is about the same place, or one around or inside it.
func (m mistake) sharesPlace(d Diagnostic) bool {
	return within(d.Pointer, m.at) || within(m.at, d.Pointer)
}

// surrounds reports whether the mistake is outside of all tasks, in one around a task, or in one inside it.
func (m mistake) surrounds(own Pointer) bool {
	return m.task == "" || within(own, m.task) || within(m.task, own)
}

// isUnknownSection reports whether the mistake is a property of the workflow that does not exist: it may have been `use`.
func (m mistake) isUnknownSection() bool {
	tokens := m.at.Tokens()
	known := []string{"document", "input", "do", "timeout", "output", "schedule", "evaluate"}
	return len(tokens) == 1 && !slices.Contains(known, tokens[0])
}

// mayBind reports whether the mistake stands where a task binds variables, or is a property that the task does not have.
func (m mistake) mayBind() bool {
	rest := Pointer(strings.TrimPrefix(string(m.at), string(m.task))).Tokens()
	return len(rest) == 1 || len(rest) > 1 && slices.Contains([]string{"for", "foreach", "catch"}, rest[0])
}

// within reports whether a place is another one, or inside it.
func within(at, outer Pointer) bool {
	return at == outer || strings.HasPrefix(string(at), string(outer)+"/")
}
