package dsl

// KindListen is the kind of ListenTask.
const KindListen Kind = "listen"

// ListenTask waits for events.
type ListenTask struct {
	TaskBase
	To      *EventStrategy
	Read    string // data (default), envelope or raw
	ForEach *Iterator
}

// Kind returns KindListen.
func (*ListenTask) Kind() Kind { return KindListen }

// Traits: the time of the events is not known.
func (*ListenTask) Traits() Traits { return Traits{Unbounded: true} }

func (t *ListenTask) parts(w *walker) {
	w.strategy(t.To)
	w.iterator(t, t.ForEach)
}

func parseListen(p *parser, o *object, base TaskBase) Task {
	l := p.object(o.value("listen"), o.at.Key("listen"), "`listen`", "to", "read", "?foreach")
	o.reportTooDeep(l, "foreach")
	l.require("to")
	return &ListenTask{
		TaskBase: base, To: l.strategy("to", false), Read: l.enum("read", "data", "envelope", "raw"), ForEach: o.iterator("foreach"),
	}
}
