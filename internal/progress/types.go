package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// Types select lifecycle events by their types, and events that workflows emit. No types select everything except for the changes of states, which
// repeat the other events.
type Types []string

// AllTypes selects all types.
func AllTypes() Types { return Types{"workflow", "task", statusChanged, Emitted} }

const statusChanged = "status-changed"

// ParseTypes parses types that are separated by commas: workflow or task for all of their types except for the changes of their states, task.faulted
// for one type, status-changed for the changes of both states, and emitted for the events that workflows emit.
func ParseTypes(text string) (all Types, err error) {
	if text == "" {
		return nil, nil
	}
	for _, one := range strings.Split(text, ",") {
		one = strings.TrimSpace(one)
		if !slices.Contains(AllTypes(), one) && !slices.Contains(LifecycleTypes(), one) {
			return nil, fmt.Errorf("%s is no type of lifecycle event; there are workflow, task, status-changed, emitted, %s", shorten.Quoted(one), strings.Join(LifecycleTypes(), ", "))
		}
		all = append(all, one)
	}
	return all, nil
}

// Has reports whether a type such as task.faulted is selected.
func (t Types) Has(name string) bool {
	what, verb, _ := strings.Cut(name, ".")
	if slices.Contains(t, name) {
		return true
	}
	if verb == statusChanged {
		return slices.Contains(t, statusChanged)
	}
	return len(t) == 0 || slices.Contains(t, what)
}

// String returns the text that ParseTypes parses as the same types.
func (t Types) String() string { return strings.Join(t, ",") }
