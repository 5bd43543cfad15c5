package dsl

import "strings"

// LifecycleTypes is the beginning of the types of events about the life of runs.
const LifecycleTypes = "io.serverlessworkflow."

// IsLifecycleType reports whether a type of events is reserved for events about the life of runs: it is about workflows or tasks. Other types that
// begin with LifecycleTypes are free, and the examples of the specification use some.
func IsLifecycleType(kind string) bool {
	rest, is := strings.CutPrefix(kind, LifecycleTypes)
	return is && (strings.HasPrefix(rest, "workflow.") || strings.HasPrefix(rest, "task."))
}

// checkLifecycleEmits: SW707, events that a workflow must not emit.
func checkLifecycleEmits(c *checker) {
	Walk(c.w, func(t Task) bool {
		emit, is := t.(*EmitTask)
		if !is {
			return true
		}
		event, _ := emit.With.Data.(map[string]any)
		if kind, _ := event["type"].(string); IsLifecycleType(kind) {
			at := emit.With.Pointer.Key("type")
			c.add(Diagnostic{Code: "SW707", Pointer: at, Range: c.w.Source.Value(at), Message: "only the engine emits events of this type",
				Help: "give the event a type of your own, such as com.example.order.completed"})
		}
		return true
	})
}

// checkLifecycleFilters: SW706, filters for events that do not reach runs automatically.
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
