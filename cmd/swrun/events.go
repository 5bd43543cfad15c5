package main

import (
	"fmt"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
)

// This file reads the events of --event.

// deliverable reads the events of files and checks that a task of d waits for events.
func deliverable(d *swrun.Document, files []string) error {
	events, err := readEvents(files)
	if err == nil && len(events) > 0 && !listens(d.Workflow) {
		return usagef("leave --event out", "no task of %s listens: there is nobody to deliver the events to", title(d))
	}
	return err
}

// readEvents reads CloudEvents from files, each a JSON or YAML object or a list of them.
func readEvents(files []string) ([]map[string]any, error) {
	var events []map[string]any
	for _, file := range files {
		text, err := readFile("the events", file, bound{bytes: maxEvents})
		if err != nil {
			return nil, err
		}
		v, err := decodeData(file, text)
		if err != nil {
			return nil, usagef("it must hold CloudEvents as JSON or YAML", "%s cannot be read: %s", file, err)
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for i, item := range list {
			event, err := cloudEvent(item)
			if err != nil {
				return nil, usagef("a CloudEvent has id, source, type and specversion", "%s, event %d: %s", file, i+1, err)
			}
			events = append(events, event)
		}
	}
	return events, nil
}

// cloudEvent checks the attributes that every CloudEvent 1.0 has.
func cloudEvent(v any) (map[string]any, error) {
	event, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is not an object")
	}
	for _, name := range []string{"id", "source", "type"} {
		if text, ok := event[name].(string); !ok || text == "" {
			return nil, fmt.Errorf("its `%s` must be text that is not empty", name)
		}
	}
	if version, present := event["specversion"]; present && version != "1.0" {
		return nil, fmt.Errorf("its `specversion` must be 1.0, got %v", version)
	}
	return event, nil
}

// listens reports whether any task of w waits for events.
func listens(w *dsl.Workflow) (found bool) {
	dsl.Walk(w, func(t dsl.Task) bool {
		found = found || t.Kind() == dsl.KindListen
		return !found
	})
	return found
}
