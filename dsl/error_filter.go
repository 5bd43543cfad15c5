package dsl

import "github.com/swrun/swrun/errors"

// Mismatch names the first member of the filter that e does not have, in the order of the specification, or is empty if
// the filter selects e. A nil filter selects all errors (semantics 7.1).
func (f *ErrorFilter) Mismatch(e *errors.Error) (member string) {
	differs := func(want *string, got string) bool { return want != nil && *want != got }
	switch {
	case f == nil:
		return ""
	case f.Type != "" && !errors.Same(f.Type, e.Type):
		return "type"
	case f.Status != nil && *f.Status != e.Status:
		return "status"
	case differs(f.Title, e.Title):
		return "title"
	case differs(f.Detail, e.Detail):
		return "detail"
	case differs(f.Instance, e.Instance):
		return "instance"
	}
	return ""
}
