package dsl

// WaitTask pauses.
type WaitTask struct {
	TaskBase
	Wait *Duration
}

// Kind returns KindWait.
func (*WaitTask) Kind() Kind { return KindWait }
