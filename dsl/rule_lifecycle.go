package dsl

import "strings"

// LifecycleTypes is how the types of the events begin that tell what runs do.
const LifecycleTypes = "io.serverlessworkflow."

// checkLifecycleFilters: SW706, filters for events that do not come to runs by themselves.
func checkLifecycleFilters(c *checker) {
	Walk(c.w, func(t Task) bool {
		if listen, is := t.(*ListenTask); is {
			c.lifecycleFilters(listen.To)
		}
		return true
	})
	if s := c.w.Schedule; s != nil {
		c.lifecycleFilters(s.On)
	}
}

func (c *checker) lifecycleFilters(s *EventStrategy) {
	if s == nil {
		return
	}
	for _, f := range s.Filters() {
		wanted, _ := f.With.Data.(map[string]any)
		if kind, _ := wanted["type"].(string); strings.HasPrefix(kind, LifecycleTypes) {
			at := f.With.Pointer.Key("type")
			c.add(Diagnostic{Code: "SW706", Pointer: at, Range: c.w.Source.Value(at), Message: "events of the engine go to sinks, and come to a run only if somebody publishes them",
				Help: "have the other workflow emit an event of its own, or bring those of a sink back with a source (docs/operating.md)"})
		}
	}
	c.lifecycleFilters(s.UntilEvent)
}
