package control_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

// TestUntakenFull: a type is full with 20 events of one namespace, and a namespace with 200.
func TestUntakenFull(t *testing.T) {
	events := func(namespace string, types, ofEach int) (all []api.UntakenEvent) {
		for n := range types * ofEach {
			all = append(all, api.UntakenEvent{Namespace: namespace, Type: fmt.Sprintf("t%02d", n%types)})
		}
		return all
	}
	for name, c := range map[string]struct {
		all               []api.UntakenEvent
		types, namespaces []string
	}{
		"none":                         {},
		"19 of a type":                 {all: events("a", 1, 19)},
		"19 of a type for two":         {all: slices.Concat(events("a", 1, 19), events("b", 1, 19))},
		"20 of a type":                 {events("a", 2, 20), []string{"t00", "t01"}, nil},
		"20 of a type for two":         {slices.Concat(events("b", 1, 20), events("a", 1, 20)), []string{"t00"}, nil},
		"199 of a namespace":           {all: events("a", 199, 1)},
		"200 of a namespace":           {events("a", 20, 10), nil, []string{"a"}},
		"200 for all and of namespace": {slices.Concat(events("b", 20, 10), events("", 20, 10)), nil, []string{"", "b"}},
	} {
		if types, namespaces := control.UntakenFull(c.all); !slices.Equal(types, c.types) || !slices.Equal(namespaces, c.namespaces) {
			t.Errorf("%s: the full types are %q and the full namespaces %q, want %q and %q", name, types, namespaces, c.types, c.namespaces)
		}
	}
}
