// Package cloudevent checks and reads CloudEvents 1.0 in their structured JSON form, as data of workflows.
package cloudevent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/swrun/swrun/internal/attribute"
)

// Check returns what is wrong with an event, the same of several mistakes each time, as an *attribute.Error; nil if nothing is.
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

// withoutNulls removes the attributes of an event that are null: that says the same as leaving them out (CloudEvents 1.0, JSON Format 2.2). Its data may be null.
func withoutNulls(event map[string]any) {
	maps.DeleteFunc(event, func(name string, value any) bool { return value == nil && name != "data" })
}
