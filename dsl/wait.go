package dsl

// WaitTask pauses.
type WaitTask struct {
	TaskBase
	Wait *Duration
}

// Kind returns KindWait.
func (*WaitTask) Kind() Kind { return KindWait }

func parseWait(_ *parser, o *object, base TaskBase) Task {
	return &WaitTask{TaskBase: base, Wait: o.duration("wait")}
}
