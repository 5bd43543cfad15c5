package dsl

// ForkTask runs branches at the same time.
type ForkTask struct {
	TaskBase
	Branches TaskList
	Compete  bool
}

// Kind returns KindFork.
func (*ForkTask) Kind() Kind { return KindFork }
