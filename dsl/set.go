package dsl

// SetTask replaces the data.
type SetTask struct {
	TaskBase
	Set any // an object whose ${ } strings are evaluated, or a string (Expression)
}

// Kind returns KindSet.
func (*SetTask) Kind() Kind { return KindSet }
