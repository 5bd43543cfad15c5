package events

import (
	"slices"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/runtime/store"
)

// Audience lists the namespaces whose runs an event may reach. Nil means all namespaces; an empty audience means no namespace.
type Audience []string

// Has reports whether an event may reach the runs of a namespace.
func (a Audience) Has(namespace string) bool { return a == nil || slices.Contains(a, namespace) }

// key returns the key of an event for the audience. Each audience has its own key: a delivery to some namespaces implies nothing about
// others.
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

// maxApart is for how many namespaces an event asks apart. One for more of them asks as if it were for all.
const maxApart = 8

// types returns which filters an event of a type may ask for.
func (a Audience) types(kind string) (all []store.ListenType) {
	namespaces := []string(a)
	if a == nil || len(a) > maxApart {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		for _, kind := range slices.Compact([]string{kind, ""}) {
			all = append(all, store.ListenType{Type: kind, Namespace: namespace})
		}
	}
	return all
}
