package dsl

// DoTask runs a list of tasks one after the other.
type DoTask struct {
	TaskBase
	Do TaskList
}

// Kind returns KindDo.
func (*DoTask) Kind() Kind { return KindDo }

func parseDo(_ *parser, o *object, base TaskBase) Task {
	return &DoTask{TaskBase: base, Do: o.tasks("do")}
}
