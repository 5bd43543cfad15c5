package tasks

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// subscribeBody consumes messages until its policy says that there are enough (semantics 11.10a to 11.10f). Its first effect makes the
// subscription, each other one receives messages and says which of those before were consumed, and the last one ends the subscription.
type subscribeBody struct {
	operation            *asyncAPIOperation
	filter, while, until *expr.Code
	amount               *int
	within               *interpreter.Duration // `for`
	each                 *iterator             // nil if messages are consumed as they are
}

func compileSubscription(b *interpreter.Builder, o *asyncAPIOperation, s *dsl.Subscription) *subscribeBody {
	return &subscribeBody{
		operation: o, filter: b.Condition(s.Filter), while: b.Condition(s.While), until: b.Condition(s.Until), amount: s.Amount,
		within: b.Duration(s.For), each: compileIterator(b, "with/subscription/foreach/do", s.ForEach),
	}
}

// receiving is what a request asks for of a subscription. Handles are what the broker knows messages by.
type receiving struct {
	Begins bool     `json:"begins,omitempty"` // only to make the subscription
	Ends   bool     `json:"ends,omitempty"`   // only to end it
	Most   int      `json:"most,omitempty"`   // messages; 0 only to tell the broker what was consumed
	Done   []string `json:"done,omitempty"`   // consumed since the request before: the broker is told
	Unfit  string   `json:"unfit,omitempty"`  // of these, the one that nobody can consume
	Known  []string `json:"known,omitempty"`  // consumed before that: in case that they come again all the same
}

// has reports whether a message was consumed before.
func (r *receiving) has(handle string) bool {
	return slices.Contains(r.Done, handle) || slices.Contains(r.Known, handle)
}

// inbound is a message that was received.
type inbound struct {
	Handle  string            `json:"handle"`
	Message interpreter.Value `json:"message,omitzero"`
	Broken  string            `json:"broken,omitempty"` // why it cannot be read; empty if it can
	Large   bool              `json:"large,omitempty"`  // it cannot since it is too large
}

// subscribeProgress is what a subscription has consumed so far, and how far it is with it.
type subscribeProgress struct {
	Target *asyncapi.Target `json:"target,omitempty"` // nil as long as only the document says it
	Within time.Duration    `json:"within,omitempty"` // from the start of the task; 0 for no bound
	Begun  bool             `json:"begun,omitempty"`  // the subscription is made
	Over   bool             `json:"over,omitempty"`   // no message is consumed any more
	Broken string           `json:"broken,omitempty"` // why the message in hand cannot be read, of which the broker is told before the task fails
	Large  bool             `json:"large,omitempty"`  // it cannot since it is too large

	Consumed []interpreter.Value `json:"consumed,omitempty"`
	Received []inbound           `json:"received,omitempty"` // wait to be looked at
	Done     []string            `json:"done,omitempty"`     // handles, as in receiving
	Known    []string            `json:"known,omitempty"`
	// Of foreach: what the iteration in progress handles, and how many have begun.
	Handling   *interpreter.Value `json:"handling,omitempty"`
	Iterations int                `json:"iterations,omitempty"`
}

// Enter implements interpreter.Body. Of a task in progress it computes the request again.
func (b *subscribeBody) Enter(s *interpreter.Scope) interpreter.Next {
	p := interpreter.Progress[subscribeProgress](s)
	if p.Begun || p.Over {
		return b.ask(s, p)
	}
	defer s.Changed()
	bounded, err := b.bound(s, p)
	if err == nil {
		p.Over, err = b.satisfied(s, p)
	}
	if err != nil {
		return interpreter.Fail(err)
	}
	if p.Over || bounded && p.Within == 0 {
		return interpreter.Done([]any{})
	}
	request, err := b.operation.prepare(s, nil)
	if err != nil {
		return interpreter.Fail(err)
	}
	p.Target, request.Receive = request.Target, &receiving{Begins: true}
	return interpreter.Perform(request).Until(b.end(s, p))
}

// bound fills in how long messages are received, and reports whether there is such a bound.
func (b *subscribeBody) bound(s *interpreter.Scope, p *subscribeProgress) (bounded bool, err *errors.Error) {
	p.Within, err = evalLength(s, b.within, 0)
	return b.within != nil, err
}

// end returns when the subscription ends in any case; zero for never.
func (b *subscribeBody) end(s *interpreter.Scope, p *subscribeProgress) (end time.Time) {
	if p.Within > 0 {
		end = s.StartedAt().Add(p.Within)
	}
	return end
}

// Finish implements interpreter.Leaf.
func (b *subscribeBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	p := interpreter.Progress[subscribeProgress](s)
	defer s.Changed()
	switch {
	case p.Broken != "":
		return interpreter.Fail(p.broken())
	case p.Over:
		return b.done(s, p)
	case !p.Begun:
		p.Begun = true
		if p.Target == nil {
			p.Target = new(asyncapi.Target)
			if err := reread(result, p.Target); err != nil {
				return interpreter.Fail(err)
			}
		}
		return b.ask(s, p)
	}
	p.Known, p.Done = remembered(p.Known, p.Done), nil
	if err := reread(result, &p.Received); err != nil {
		return interpreter.Fail(err)
	}
	return b.goOn(s, p)
}

// broken returns the error of a message that cannot be read.
func (p *subscribeProgress) broken() *errors.Error {
	if !p.Large {
		return errors.Communicationf("%s", p.Broken)
	}
	err := limits.Exceeded(limits.Response)
	err.Detail = p.Broken
	return err
}

// maxRemembered is how many handles are remembered, at most, of which the broker was told.
const maxRemembered = 100

// remembered returns the handles of which the broker was told: those of the last effect, and of those before the ones that name a message for good.
func remembered(known, done []string) []string {
	lasting := slices.DeleteFunc(slices.Clone(known), func(handle string) bool { return !brokers.Lasts(handle) })
	all := append(lasting, done...)
	return all[max(0, len(all)-max(maxRemembered, len(done))):]
}

// Wake implements interpreter.Sleeper: the time for receiving is over.
func (b *subscribeBody) Wake(s *interpreter.Scope) interpreter.Next {
	p := interpreter.Progress[subscribeProgress](s)
	p.Over = true
	s.Changed()
	if p.Target == nil { // where a subscription would be is not known, so that none is to be ended
		return b.done(s, p)
	}
	return b.ask(s, p)
}

// goOn handles what was received, one message at a time, and asks for more unless there are enough.
func (b *subscribeBody) goOn(s *interpreter.Scope, p *subscribeProgress) interpreter.Next {
	for !p.Over && len(p.Received) > 0 {
		m := p.Received[0]
		p.Received, p.Done = p.Received[1:], append(p.Done, m.Handle)
		if p.Broken, p.Large = m.Broken, m.Large; p.Broken != "" {
			return b.ask(s, p)
		}
		if passes, err := s.EvalCondition(b.filter, m.Message.V, true); err != nil || !passes {
			continue // as with events, an error means that it does not match (semantics 2.7)
		}
		if b.each.runs() {
			p.Handling, p.Iterations = &m.Message, p.Iterations+1
			return interpreter.Run(b.each.do, m.Message.V, interpreter.Repetition{Iteration: p.Iterations}, b.each.vars(m.Message.V, p.Iterations-1))
		}
		if err := b.consume(s, p, m.Message.V, m.Message.V); err != nil {
			return interpreter.Fail(err)
		}
	}
	if end := b.end(s, p); !end.IsZero() && !s.Now().Before(end) {
		p.Over = true
	}
	return b.ask(s, p)
}

// consume adds what was made of a message, and finds out whether there are enough.
func (b *subscribeBody) consume(s *interpreter.Scope, p *subscribeProgress, message, output any) *errors.Error {
	output, err := b.each.shape(s, message, len(p.Consumed), output)
	if err != nil {
		return err
	}
	p.Consumed = append(p.Consumed, interpreter.Value{V: output})
	if err := s.Limits().Check(limits.Items, len(p.Consumed)); err != nil {
		return err
	}
	goesOn, err := s.EvalCondition(b.while, values(p.Consumed), true)
	if err != nil {
		return err
	}
	if p.Over = !goesOn; goesOn {
		p.Over, err = b.satisfied(s, p)
	}
	return err
}

// satisfied reports what is asked before each message: whether there are enough without it.
func (b *subscribeBody) satisfied(s *interpreter.Scope, p *subscribeProgress) (bool, *errors.Error) {
	if b.amount != nil && len(p.Consumed) >= *b.amount {
		return true, nil
	}
	return s.EvalCondition(b.until, values(p.Consumed), false)
}

// maxReceived is how many messages come with one effect, if nothing takes long with each of them.
const maxReceived = 100

// ask returns the next effect: to receive, or to end the subscription.
func (b *subscribeBody) ask(s *interpreter.Scope, p *subscribeProgress) interpreter.Next {
	r := &asyncAPIRequest{Target: p.Target, Receive: &receiving{Most: maxReceived, Done: p.Done, Known: p.Known}}
	switch {
	case b.each.runs(): // an iteration takes as long as it takes, and the others would wait, unseen by the broker
		r.Receive.Most = 1
	case b.amount != nil && b.filter == nil:
		r.Receive.Most = min(maxReceived, *b.amount-len(p.Consumed))
	}
	end := b.end(s, p)
	if p.Over || p.Broken != "" {
		r.Receive.Most, r.Receive.Ends, p.Received, end = 0, p.Over, nil, time.Time{}
	}
	if p.Broken != "" {
		r.Receive.Unfit = p.Done[len(p.Done)-1]
	}
	var err *errors.Error
	if r.Authentication, err = b.operation.authentication.prepare(s, s.Input()); err != nil {
		return interpreter.Fail(err)
	}
	if r.Receive.Most == 0 {
		return interpreter.Perform(r)
	}
	return interpreter.Perform(r).Until(end).Waiting()
}

// done ends the task.
func (b *subscribeBody) done(s *interpreter.Scope, p *subscribeProgress) interpreter.Next {
	if authorization := b.operation.authentication.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(values(p.Consumed))
}

// ChildDone implements interpreter.Composite.
func (b *subscribeBody) ChildDone(s *interpreter.Scope, c interpreter.Child) interpreter.Next {
	p := interpreter.Progress[subscribeProgress](s)
	defer s.Changed()
	message := p.Handling.V
	p.Handling = nil
	if err := b.consume(s, p, message, c.Output); err != nil {
		return interpreter.Fail(err)
	}
	return b.goOn(s, p)
}

// ChildFailed implements interpreter.Composite.
func (b *subscribeBody) ChildFailed(_ *interpreter.Scope, err *errors.Error) interpreter.Next {
	return interpreter.Fail(err)
}

// MovesFrom implements interpreter.Mover: the iteration in progress has its variables.
func (b *subscribeBody) MovesFrom(s *interpreter.Scope, old interpreter.Body) string {
	was, subscribed := old.(*subscribeBody)
	switch {
	case !subscribed:
		return "it subscribes instead of publishing"
	case interpreter.Progress[subscribeProgress](s).Handling != nil:
		return b.each.movesFrom(was.each)
	}
	return ""
}

// reread decodes a result, which is data, into a value of ours.
func reread(result, to any) *errors.Error {
	data, err := expr.Encode(result)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return errors.Runtimef("what was received cannot be read: %s", err)
	}
	return nil
}
