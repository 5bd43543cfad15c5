package dsl

// ForTask runs a list of tasks once for every item of a collection.
type ForTask struct {
	TaskBase
	Each  string // variable that holds the item, default item, without $
	At    string // variable that holds the position, default index, without $
	In    any    // a string (Expression) or an inline array whose ${ } strings are evaluated
	While Expression
	Do    TaskList
}

// Kind returns KindFor.
func (*ForTask) Kind() Kind { return KindFor }
