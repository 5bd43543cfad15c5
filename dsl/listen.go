package dsl

// ListenTask waits for events.
type ListenTask struct {
	TaskBase
	To      *EventStrategy
	Read    string // data (default), envelope or raw
	ForEach *Iterator
}

// Kind returns KindListen.
func (*ListenTask) Kind() Kind { return KindListen }
