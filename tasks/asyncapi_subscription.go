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

// subscribeBody consumes messages until its policy has enough of them (semantics 11.10a to 11.10f). Its first effect makes the subscription. Each
// further effect receives messages and names the earlier messages that were consumed. The last effect ends the subscription.
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

// receiving is the part of a request about a subscription. Handles are the names of messages at the broker.
type receiving struct {
	Begins bool     `json:"begins,omitempty"` // only make the subscription
	Ends   bool     `json:"ends,omitempty"`   // only end the subscription
	Most   int      `json:"most,omitempty"`   // maximum number of messages; 0 to only acknowledge the consumed messages
	Done   []string `json:"done,omitempty"`   // consumed since the last request: the broker gets an acknowledgment
	Unfit  string   `json:"unfit,omitempty"`  // of these, the message that no task can consume
	Known  []string `json:"known,omitempty"`  // consumed before that, in case they arrive again
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
	Large   bool              `json:"large,omitempty"`  // it cannot be read because it is too large
}

// subscribeProgress contains the consumed messages and the progress of a subscription.
type subscribeProgress struct {
	Target *asyncapi.Target `json:"target,omitempty"` // nil as long as only the document defines it
	Within time.Duration    `json:"within,omitempty"` // from the start of the task; 0 for no limit
	Begun  bool             `json:"begun,omitempty"`  // the subscription is made
	Over   bool             `json:"over,omitempty"`   // no message is consumed any more
	Broken string           `json:"broken,omitempty"` // why the present message cannot be read; the broker gets an acknowledgment before the task fails
	Large  bool             `json:"large,omitempty"`  // it cannot be read because it is too large

	Consumed []interpreter.Value `json:"consumed,omitempty"`
	Received []inbound           `json:"received,omitempty"` // waiting to be handled
	Done     []string            `json:"done,omitempty"`     // handles, as in receiving
	Known    []string            `json:"known,omitempty"`
	// For foreach: the item of the iteration in progress, and the number of iterations that began.
	Handling   *interpreter.Value `json:"handling,omitempty"`
	Iterations int                `json:"iterations,omitempty"`
}

// Enter implements interpreter.Body. For a task in progress it computes the request again.
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

// bound fills in the duration of receiving, and reports whether it is limited.
func (b *subscribeBody) bound(s *interpreter.Scope, p *subscribeProgress) (bounded bool, err *errors.Error) {
	p.Within, err = evalLength(s, b.within, 0)
	return b.within != nil, err
}

// end returns the latest end of the subscription; zero for never.
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

// maxRemembered is the maximum number of remembered handles of acknowledged messages.
const maxRemembered = 100

// remembered returns the handles of acknowledged messages: all of the last effect, and of earlier effects only the handles that name a message
// permanently.
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
	if p.Target == nil { // the place of the subscription is not known, so that no subscription has to be ended
		return b.done(s, p)
	}
	return b.ask(s, p)
}

// goOn handles the received messages one at a time, and requests more unless there are enough.
func (b *subscribeBody) goOn(s *interpreter.Scope, p *subscribeProgress) interpreter.Next {
	for !p.Over && len(p.Received) > 0 {
		m := p.Received[0]
		p.Received, p.Done = p.Received[1:], append(p.Done, m.Handle)
		if p.Broken, p.Large = m.Broken, m.Large; p.Broken != "" {
			return b.ask(s, p)
		}
		if passes, err := s.EvalCondition(b.filter, m.Message.V, true); err != nil || !passes {
			continue // as with events, an error means that the message does not match (semantics 2.7)
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

// consume adds the result of a message, and checks whether there are enough messages.
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

// satisfied reports whether there are enough messages. It is called before each message.
func (b *subscribeBody) satisfied(s *interpreter.Scope, p *subscribeProgress) (bool, *errors.Error) {
	if b.amount != nil && len(p.Consumed) >= *b.amount {
		return true, nil
	}
	return s.EvalCondition(b.until, values(p.Consumed), false)
}

// maxReceived is the maximum number of messages of one effect, if handling them takes no long time.
const maxReceived = 100

// ask returns the next effect: to receive, or to end the subscription.
func (b *subscribeBody) ask(s *interpreter.Scope, p *subscribeProgress) interpreter.Next {
	r := &asyncAPIRequest{Target: p.Target, Receive: &receiving{Most: maxReceived, Done: p.Done, Known: p.Known}}
	switch {
	case b.each.runs(): // an iteration may take any time, and the other messages would wait, unseen by the broker
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

// reread decodes a result, which is data, into a Go value.
func reread(result, to any) *errors.Error {
	data, err := expr.Encode(result)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return errors.Runtimef("the received messages cannot be read: %s", err)
	}
	return nil
}
