package dsl

// EmitTask publishes an event.
type EmitTask struct {
	TaskBase
	With map[string]any // CloudEvents attributes and data; ${ } strings are evaluated
}

// Kind returns KindEmit.
func (*EmitTask) Kind() Kind { return KindEmit }
