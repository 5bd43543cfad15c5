package dsl

import "time"

// KindDo is the kind of DoTask.
const KindDo Kind = "do"

// DoTask runs a list of tasks one after the other.
type DoTask struct {
	TaskBase
	Do TaskList
}

// Kind returns KindDo.
func (*DoTask) Kind() Kind { return KindDo }

// Traits: extensions select it as composite.
func (t *DoTask) Traits() Traits { return Traits{Group: "composite", First: t.Do} }

func (t *DoTask) parts(w *walker)                      { w.list(t, t.Do) }
func (t *DoTask) minDuration(c *checker) time.Duration { return c.minDurationOfList(t.Do) }
func (t *DoTask) mayComplete(c *checker) bool          { return c.listMayComplete(t.Do) }

func parseDo(_ *parser, o *object, base TaskBase) Task {
	return &DoTask{TaskBase: base, Do: o.tasks("do")}
}
