package dsl

// EmitTask publishes an event.
type EmitTask struct {
	TaskBase
	With map[string]any // CloudEvents attributes and data; ${ } strings are evaluated
}

// Kind returns KindEmit.
func (*EmitTask) Kind() Kind { return KindEmit }

func parseEmit(p *parser, o *object, base TaskBase) Task {
	e := p.object(o.value("emit"), o.at.Key("emit"), "`emit`", "event")
	e.require("event")
	t := &EmitTask{TaskBase: base}
	if n := e.value("event"); n != nil {
		event := p.object(n, e.at.Key("event"), "an event to emit")
		t.With = event.eventProperties("with")
		if with := event.value("with"); with != nil {
			p.object(with, event.at.Key("with"), "the event's `with`").require("type")
		}
	}
	return t
}
