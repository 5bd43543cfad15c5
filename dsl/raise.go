package dsl

// RaiseTask raises an error.
type RaiseTask struct {
	TaskBase
	Use   string           // name in use.errors, or a ${ } expression that yields an error object
	Error *ErrorDefinition // nil if Use is set
}

// Kind returns KindRaise.
func (*RaiseTask) Kind() Kind { return KindRaise }
