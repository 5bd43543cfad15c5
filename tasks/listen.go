package tasks

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

func listen() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindListen, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		task := t.(*dsl.ListenTask)
		return &listenBody{to: compileStrategy(b, task.To), read: task.Read, each: compileIterator(b, "foreach/do", task.ForEach)}
	}}
}

// listenBody consumes events until its strategy is satisfied. Its output is the results for the events, in order (semantics section 14).
type listenBody struct {
	to   *eventStrategy
	read string
	each *iterator // nil if events are consumed as they are
}

// listenProgress contains the consumed events and the progress of a listen task.
type listenProgress struct {
	Consumed  []interpreter.Value `json:"consumed,omitempty"` // read, and handled by foreach
	Correlate correlations        `json:"correlate,omitzero"`
	To        strategyProgress    `json:"to,omitzero"`
	Until     strategyProgress    `json:"until,omitzero"` // the strategy inside `until`
	// For foreach: the events that wait for their iteration, the item of the iteration in progress, and the number of iterations that began.
	Unhandled  []interpreter.Value `json:"unhandled,omitempty"`
	Handling   *interpreter.Value  `json:"handling,omitempty"`
	Iterations int                 `json:"iterations,omitempty"`
	// Satisfied reports that no further event is consumed.
	Satisfied bool `json:"satisfied,omitempty"`
}

func (l *listenBody) Enter(s *interpreter.Scope) interpreter.Next {
	p := interpreter.Progress[listenProgress](s)
	for _, strategy := range l.to.all() {
		if err := strategy.expect(s, &p.Correlate); err != nil {
			return interpreter.Fail(err)
		}
	}
	p.Satisfied = l.to.satisfied(p.To)
	s.Changed()
	return l.goOn(s, p)
}

func (l *listenBody) Arrive(s *interpreter.Scope, event any) (n interpreter.Next, consumed bool) {
	p := interpreter.Progress[listenProgress](s)
	attributes, ok := event.(map[string]any)
	if !ok || p.Satisfied {
		return interpreter.Await(), false
	}
	if until := l.to.untilEvent; until != nil && until.consume(s, attributes, &p.Until, &p.Correlate) {
		p.Satisfied = until.satisfied(p.Until)
		return l.goOn(s, p), true
	}
	if !l.to.consume(s, attributes, &p.To, &p.Correlate) {
		return interpreter.Await(), false
	}
	p.Satisfied = l.to.satisfied(p.To)
	p.Unhandled = append(p.Unhandled, interpreter.Value{V: readEvent(attributes, l.read)})
	if err := s.Limits().Check(limits.Items, len(p.Consumed)+len(p.Unhandled)); err != nil {
		return interpreter.Fail(err), true
	}
	return l.goOn(s, p), true
}

// goOn handles the consumed events one at a time, and ends the task once the strategy is satisfied.
func (l *listenBody) goOn(s *interpreter.Scope, p *listenProgress) interpreter.Next {
	defer s.Changed()
	for p.Handling == nil && len(p.Unhandled) > 0 {
		item := p.Unhandled[0]
		p.Unhandled = p.Unhandled[1:]
		if l.each.runs() {
			p.Handling, p.Iterations = &item, p.Iterations+1
			s.Listen(l.filters(p))
			return interpreter.Run(l.each.do, item.V, interpreter.Repetition{Iteration: p.Iterations}, l.each.vars(item.V, p.Iterations-1))
		}
		if n, over := l.handled(s, p, item.V, item.V); over {
			return n
		}
	}
	if p.Satisfied && p.Handling == nil {
		return interpreter.Done(values(p.Consumed))
	}
	s.Listen(l.filters(p))
	return interpreter.Await()
}

// handled adds the result of an item to the consumed items. over reports that this ended the task.
func (l *listenBody) handled(s *interpreter.Scope, p *listenProgress, item, output any) (n interpreter.Next, over bool) {
	output, err := l.each.shape(s, item, len(p.Consumed), output)
	if err != nil {
		return interpreter.Fail(err), true
	}
	p.Consumed = append(p.Consumed, interpreter.Value{V: output})
	if l.to.until == nil {
		return n, false
	}
	consumed := values(p.Consumed)
	ends, err := s.EvalCondition(l.to.until, consumed, false)
	switch {
	case err != nil:
		return interpreter.Fail(err), true
	case ends:
		return interpreter.Done(consumed), true
	}
	return n, false
}

func (l *listenBody) ChildDone(s *interpreter.Scope, c interpreter.Child) interpreter.Next {
	p := interpreter.Progress[listenProgress](s)
	item := p.Handling.V
	p.Handling = nil
	if n, over := l.handled(s, p, item, c.Output); over {
		return n
	}
	return l.goOn(s, p)
}

func (l *listenBody) ChildFailed(_ *interpreter.Scope, err *errors.Error) interpreter.Next {
	return interpreter.Fail(err)
}

// filters returns the index entries of the events that the task can still consume.
func (l *listenBody) filters(p *listenProgress) (all []interpreter.EventFilter) {
	if p.Satisfied {
		return nil
	}
	all = l.to.indexed(p.To, p.Correlate)
	if l.to.untilEvent != nil {
		all = append(all, l.to.untilEvent.indexed(p.Until, p.Correlate)...)
	}
	return all
}

// MovesFrom implements interpreter.Mover: consumed events are kept by the positions of their filters, and the iteration in progress has its
// variables.
func (l *listenBody) MovesFrom(s *interpreter.Scope, old interpreter.Body) string {
	was, p := old.(*listenBody), interpreter.Progress[listenProgress](s)
	if p.Handling != nil {
		if why := l.each.movesFrom(was.each); why != "" {
			return why
		}
	}
	if p.Satisfied {
		return ""
	}
	if why := l.to.movesFrom(was.to, p.To); why != "" {
		return why
	}
	return l.to.untilEvent.movesFrom(was.to.untilEvent, p.Until)
}

// ListenAgain implements interpreter.Listener: an expected value of a correlation is evaluated again if its expression changed, and the filters apply
// to the next events.
func (l *listenBody) ListenAgain(s *interpreter.Scope) *errors.Error {
	p := interpreter.Progress[listenProgress](s)
	for _, strategy := range l.to.all() {
		if err := strategy.expect(s, &p.Correlate); err != nil {
			return err
		}
	}
	s.Listen(l.filters(p))
	s.Changed()
	return nil
}

// Refuses implements interpreter.Listener.
func (l *listenBody) Refuses(s *interpreter.Scope, event any) (all []interpreter.Refusal) {
	p := interpreter.Progress[listenProgress](s)
	attributes, ok := event.(map[string]any)
	if !ok || p.Satisfied {
		return nil
	}
	for _, f := range append(l.to.open(p.To), l.to.untilEvent.open(p.Until)...) {
		if why := f.refuses(s, attributes, &p.Correlate); why != nil {
			r := interpreter.Refusal{Filter: f.pointer}
			r.Attribute, r.Why = why()
			all = append(all, r)
		}
	}
	return all
}

// Listening implements interpreter.Listener.
func (l *listenBody) Listening(s *interpreter.Scope) (consumed int, awaited []interpreter.Awaited) {
	p := interpreter.Progress[listenProgress](s)
	return len(p.Consumed) + len(p.Unhandled), append(l.to.awaited(p.To, p.Correlate), l.to.untilEvent.awaited(p.Until, p.Correlate)...)
}

// Correlated implements interpreter.Listener.
func (l *listenBody) Correlated(s *interpreter.Scope) map[string]any {
	p := interpreter.Progress[listenProgress](s)
	all := map[string]any{}
	for n, strategy := range l.to.all() {
		for _, f := range strategy.had([]strategyProgress{p.To, p.Until}[n]) {
			for _, c := range f.correlate {
				if v, is := c.met(p.Correlate); is {
					all[c.key] = v
				}
			}
		}
	}
	return all
}

func values(all []interpreter.Value) []any {
	list := make([]any, len(all))
	for i, v := range all {
		list[i] = v.V
	}
	return list
}

// iterator handles consumed events or messages one by one.
type iterator struct {
	item, at string
	do       *interpreter.List
	output   interpreter.Output
	export   interpreter.Export
}

// compileIterator compiles an iterator, whose tasks are at list below the task.
func compileIterator(b *interpreter.Builder, list string, i *dsl.Iterator) *iterator {
	if i == nil {
		return nil
	}
	return &iterator{item: i.Item, at: i.At, do: b.List(list, i.Do), output: b.Output(i.Output), export: b.Export(i.Export)}
}

func (i *iterator) vars(item any, at int) interpreter.Vars {
	return interpreter.Vars{i.item: item, i.at: at}
}

// runs reports whether tasks run for each item. An absent iterator (nil) runs no tasks.
func (i *iterator) runs() bool { return i != nil && i.do.Len() > 0 }

// shape makes the result of the task from an item and the output of its tasks; an absent iterator leaves the output unchanged.
func (i *iterator) shape(s *interpreter.Scope, item any, at int, output any) (any, *errors.Error) {
	if i == nil {
		return output, nil
	}
	vars := i.vars(item, at)
	shaped, err := s.Reshape(i.output, output, vars)
	if err != nil {
		return nil, err
	}
	return shaped, s.Export(i.export, shaped, vars)
}

// movesFrom returns why the iteration in progress cannot continue with another version of the iterator.
func (i *iterator) movesFrom(was *iterator) string {
	if i == nil || was == nil || i.item != was.item || i.at != was.at {
		return "its foreach is missing, or has other variables"
	}
	return ""
}
