package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// Types choose lifecycle events by their types, and those that workflows emit. None at all are all but the changes of states, which repeat what the others tell.
type Types []string

// AllTypes are all types.
func AllTypes() Types { return Types{"workflow", "task", statusChanged, Emitted} }

const statusChanged = "status-changed"

// ParseTypes reads types with commas between them: workflow or task for all of these but the changes of their states, task.faulted for one of them,
// status-changed for the changes of the states of both, and emitted for the events that workflows emit.
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

// Has reports whether a type is chosen, such as task.faulted.
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

// String returns what ParseTypes reads as the same types.
func (t Types) String() string { return strings.Join(t, ",") }
