package events

import (
	"slices"

	"github.com/swrun/swrun/expr"
)

// Audience is the namespaces whose runs an event may reach. Nil is all of them; one that is empty is none.
type Audience []string

// Has reports whether an event may reach the runs of a namespace.
func (a Audience) Has(namespace string) bool { return a == nil || slices.Contains(a, namespace) }

// key returns what an event for the audience is known by. Each audience has its own: what came for some says nothing about what the others have.
func (a Audience) key(event string) (string, error) {
	if a == nil {
		return event, nil
	}
	all := slices.Sorted(slices.Values(a))
	names := make([]any, 0, len(all))
	for _, name := range slices.Compact(all) {
		names = append(names, name)
	}
	text, err := expr.Encode(names)
	return event + "/" + hash(text), err
}
