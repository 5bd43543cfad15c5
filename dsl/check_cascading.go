package dsl

import (
	"slices"
	"strings"
)

// dropCascading removes the diagnostics that are probably consequences of errors of Parse: diagnostics about a task with such an error, and about
// something that the error may have left out of the tree.
func (c *checker) dropCascading() {
	if len(c.w.Source.errorPointers) == 0 {
		return
	}
	tasks := map[Pointer]bool{}
	Walk(c.w, func(t Task) bool {
		tasks[t.Base().Pointer] = true
		return true
	})
	var broken []parseError
	for _, at := range c.w.Source.errorPointers {
		if own := taskAround(tasks, at); own != "" || affectsTasks(at) {
			broken = append(broken, parseError{at, own})
		}
	}
	c.found = slices.DeleteFunc(c.found, func(d Diagnostic) bool {
		own := taskAround(tasks, d.Pointer)
		return slices.ContainsFunc(broken, func(m parseError) bool { return m.explains(d, own) })
	})
}

// parseError is where Parse has reported an error.
type parseError struct {
	at   Pointer
	task Pointer // the innermost task around it; empty if there is none
}

// affectsTasks reports whether an error outside of all tasks may have left out something that tasks need: a section with a
// misspelt name, a definition under use, or the workflow's timeout.
func affectsTasks(at Pointer) bool {
	return strings.Count(string(at), "/") < 2 || within(at, "/use") || within(at, "/timeout") || within(at, "/document/timeout")
}

// taskAround returns the pointer of the innermost task that contains a place, or "".
func taskAround(tasks map[Pointer]bool, at Pointer) Pointer {
	for at != "" && !tasks[at] {
		at = at[:max(0, strings.LastIndexByte(string(at), '/'))]
	}
	return at
}

// explains reports whether a diagnostic about a task may be a consequence of the error. An undefined name is not, unless the error is at the place
// where the name would be defined.
func (m parseError) explains(d Diagnostic, own Pointer) bool {
	switch code := d.Code; code {
	case "SW202", "SW205", "SW206": // they depend on the whole list, or the whole document
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

// sharesPlace reports whether a diagnostic is about the same place, or a place around or inside it.
func (m parseError) sharesPlace(d Diagnostic) bool {
	return within(d.Pointer, m.at) || within(m.at, d.Pointer)
}

// surrounds reports whether the error is outside of all tasks, in a task that contains this task, or in a task inside it.
func (m parseError) surrounds(own Pointer) bool {
	return m.task == "" || within(own, m.task) || within(m.task, own)
}

// isUnknownSection reports whether the error is a property of the workflow that does not exist, and may have been `use`.
func (m parseError) isUnknownSection() bool {
	tokens := m.at.Tokens()
	others := []string{"document", "input", "do", "timeout", "output", "schedule", "evaluate"}
	if len(tokens) != 1 || slices.Contains(others, tokens[0]) {
		return false
	}
	meant := otherKeyFor(tokens[0], append(others, "use"))
	return meant == "use" || meant == ""
}

// mayBind reports whether the error is at a place where a task binds variables, or is a property that the task does not have.
func (m parseError) mayBind() bool {
	rest := Pointer(strings.TrimPrefix(string(m.at), string(m.task))).Tokens()
	return len(rest) == 1 || len(rest) > 1 && slices.Contains([]string{"for", "foreach", "catch"}, rest[0])
}

// within reports whether a place is equal to another place, or inside it.
func within(at, outer Pointer) bool {
	return at == outer || strings.HasPrefix(string(at), string(outer)+"/")
}

// dropSecondary removes the warnings about a place for which an error is reported: one mistake is one diagnostic.
func (c *checker) dropSecondary() {
	errors := map[Pointer]bool{}
	for _, d := range c.found.Errors() {
		errors[d.Pointer] = true
	}
	c.found = slices.DeleteFunc(c.found, func(d Diagnostic) bool {
		return errors[d.Pointer] && slices.Contains([]string{"SW504", "SW507", "SW508", "SW509", "SW603", "SW129", "SW209"}, d.Code)
	})
}
