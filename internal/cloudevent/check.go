// Package cloudevent checks and reads CloudEvents 1.0 in their structured JSON form, as data of workflows.
package cloudevent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/swrun/swrun/internal/attribute"
)

// Check returns the mistake in an event as an *attribute.Error, always the same one of several; nil if the event is valid.
func Check(event map[string]any) error {
	for _, name := range []string{"id", "source", "type", "specversion"} {
		if _, present := event[name]; !present {
			return &attribute.Error{Attribute: name, Err: fmt.Errorf("an event needs `%s`", name)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(event)) {
		if err := attribute.Check(event, name); err != nil {
			return err
		}
	}
	return nil
}

// withoutNulls removes the attributes of an event that are null, which is the same as leaving them out (CloudEvents 1.0, JSON Format 2.2). Its data
// may be null.
func withoutNulls(event map[string]any) {
	maps.DeleteFunc(event, func(name string, value any) bool { return value == nil && name != "data" })
}
