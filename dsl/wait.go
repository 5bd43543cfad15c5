package dsl

import "time"

// KindWait is the kind of WaitTask.
const KindWait Kind = "wait"

// WaitTask pauses.
type WaitTask struct {
	TaskBase
	Wait *Duration
}

// Kind returns KindWait.
func (*WaitTask) Kind() Kind { return KindWait }

func (t *WaitTask) parts(w *walker) { w.durations(t.Wait) }

func (t *WaitTask) minDuration(*checker) time.Duration {
	d, _ := knownLength(t.Wait)
	return d
}

func parseWait(_ *parser, o *object, base TaskBase) Task {
	return &WaitTask{TaskBase: base, Wait: o.duration("wait")}
}
