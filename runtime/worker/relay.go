package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// relay delivers the entries of the partition's outbox, beginning with the entries that a poll found, and deletes them. Namespaces take
// turns, and the entries of each keep their order. An entry that fails stays and is retried. Later entries to other destinations do not
// wait for it, for any number of failures. relay reports whether anything was delivered.
func (p *partition) relay(ctx context.Context, entries []store.Outgoing) (delivered bool) {
	q := newOutbox(p.w.c.Store, p.n, entries)
	stuck := map[string]bool{}
	for range maxTurns {
		err := q.lookOn(ctx)
		turn := q.take()
		if err == nil && len(turn) > 0 && ctx.Err() == nil {
			var done bool
			done, err = p.relayAll(ctx, turn, stuck)
			delivered = delivered || done
		}
		if err != nil {
			p.outboxFailed(ctx, err)
		}
		if err != nil || len(turn) == 0 || ctx.Err() != nil {
			break // the next look finds the rest
		}
	}
	return delivered
}

// outboxFailed logs an error of the store about the outbox, which the next look at the partition finds as it is.
func (p *partition) outboxFailed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.w.c.Log.Warn("an outbox could not be read or emptied; it is tried again", "partition", p.n, "error", err)
	}
}

// relayAll delivers some entries, and reports whether any was. Stuck are the destinations to which a delivery has failed.
func (p *partition) relayAll(ctx context.Context, entries []store.Outgoing, stuck map[string]bool) (delivered bool, err error) {
	var done []string
	for _, e := range entries {
		to, err := destination(e)
		if err != nil {
			p.cannotDeliver(e, err)
			continue
		}
		if stuck[to] {
			continue
		}
		if err := p.w.relay.Deliver(ctx, e); err != nil {
			if ctx.Err() == nil {
				p.w.c.Log.Warn("a message was not delivered; it is tried again", "partition", p.n, "to", to, "entry", e.ID, "error", err)
			}
			stuck[to] = true
			continue
		}
		done = append(done, e.ID)
	}
	if len(done) == 0 {
		return false, nil
	}
	return true, p.w.c.Store.Relay(ctx, p.n, done)
}

// cannotDeliver logs an entry that cannot be read: it stays where it is.
func (p *partition) cannotDeliver(e store.Outgoing, err error) {
	if p.w.undeliverable.first(fmt.Sprint(p.n, " ", e.ID)) {
		p.w.c.Log.Error("a message cannot be read, and is not delivered", "partition", p.n, "entry", e.ID, "error", err, "fix", "swrun doctor says what to do")
	}
}

// destination returns where an entry goes: entries of one destination keep their order.
func destination(e store.Outgoing) (string, error) {
	o, err := execution.ParseOutgoing(e.Data)
	switch {
	case err != nil:
		return "", err
	case o.Child != nil:
		return store.Instance{Namespace: o.Child.Workflow.Namespace, ID: o.Child.ID}.String(), nil
	case o.Deliver != nil:
		return o.Deliver.To.String(), nil
	case o.Find != nil:
		return o.Find.Run.String(), nil
	}
	return "events", nil
}

// Emitted is an event that a run has emitted.
type Emitted struct {
	Event      json.RawMessage
	Namespaces []string        // whose runs it may reach; nil for all
	Cause      *store.Instance // the first of the runs that have led to it; nil if that is not known
}

// Relay delivers the outgoing entries of runs: messages, starts of children, events.
type Relay struct {
	Store store.Store
	// Publish sends an emitted event to the listeners. Nil drops events: there are no listeners.
	Publish func(context.Context, Emitted) error
	Limits  limits.Set
	// Settings are the settings of the namespaces of children and events; nil for none.
	Settings *settings.Cache
	Log      *slog.Logger // of failing detached starts; default discards
}

// Deliver delivers one entry of an outbox. Doing it again changes nothing.
func (r *Relay) Deliver(ctx context.Context, e store.Outgoing) error {
	o, err := execution.ParseOutgoing(e.Data)
	if err != nil {
		return err
	}
	switch {
	case o.Child != nil:
		return r.startChild(ctx, e.ID, o.Child)
	case o.Deliver != nil:
		return r.send(ctx, e.ID, o.Deliver)
	case o.Find != nil:
		return r.findDefinition(ctx, e.ID, o.Find)
	case o.Publish != nil && r.Publish != nil:
		hearers, err := r.hearers(ctx, o.From)
		if err != nil {
			return err
		}
		return r.Publish(ctx, Emitted{Event: o.Publish, Namespaces: hearers, Cause: o.Cause})
	}
	return nil
}

// hearers returns the namespaces that receive an event emitted in one; nil for all. Outbox entries of an older build contain no namespace
// and are sent to all, as in that build.
func (r *Relay) hearers(ctx context.Context, emitted string) ([]string, error) {
	if r.Settings == nil || emitted == "" {
		return nil, nil
	}
	return r.Settings.Hearers(ctx, emitted)
}

func (r *Relay) send(ctx context.Context, id string, d *execution.OutgoingMessage) error {
	m, err := d.Message.Encode()
	if err != nil {
		return err
	}
	if d.Verb == "" {
		err = r.Store.Deliver(ctx, store.Delivery{To: d.To, ID: id, Message: m})
	} else {
		err = r.Store.Command(ctx, store.Command{To: d.To, ID: id, Verb: d.Verb, Message: m})
	}
	switch store.RefusedAs(err) {
	case store.Closed, store.NoSuch: // it ended in the meantime
		return nil
	}
	return err
}

// startChild starts a child workflow; its parent gets the error if that is impossible.
func (r *Relay) startChild(ctx context.Context, id string, c *execution.ChildStart) error {
	reference, digest, err := definition.Resolve(ctx, r.Store, c.Workflow)
	if store.RefusedAs(err) == store.NoSuch {
		return r.failStart(ctx, id, c, notDeployed(c.Workflow))
	}
	if err != nil {
		return err
	}
	child := store.Instance{Namespace: reference.Namespace, ID: c.ID}
	if err := child.Check(); err != nil {
		return r.failStart(ctx, id, c, errors.Configurationf("it cannot be started: %s", err))
	}
	info := execution.Invocation{Workflow: reference, Definition: digest, Input: c.Input, Parent: c.Parent, Origin: c.Origin, Beside: c.Beside, Depth: c.Depth, Family: &c.Family, Cause: c.Cause, Reserved: c.Reserved, Keys: c.Keys, TraceParent: c.TraceParent}
	if r.Settings != nil {
		if info.Settings, err = r.Settings.Of(ctx, child.Namespace); err != nil {
			return err
		}
	}
	start, err := info.StartRequest(child, r.Limits, r.Store.Layout().Partitions)
	if err != nil {
		return err
	}
	_, err = r.Store.Start(ctx, start)
	if store.RefusedAs(err) == store.TooMany {
		return r.failStart(ctx, id, c, tooMany(c.Family, r.Limits.Max(limits.Family)))
	}
	if store.RefusedAs(err) == store.Conflict {
		if theirs, err := r.started(ctx, child, c); theirs || err != nil {
			return err
		}
		return r.failStart(ctx, id, c, errors.Configurationf("there is another run called %s", c.ID))
	}
	return err
}

// findDefinition sends a run the definition of a workflow.
func (r *Relay) findDefinition(ctx context.Context, id string, f *execution.DefinitionFind) error {
	m := inbox.Message{Type: interpreter.EventFinished, Effect: f.Effect}
	reference, digest, err := definition.Resolve(ctx, r.Store, f.Workflow)
	switch {
	case store.RefusedAs(err) == store.NoSuch:
		m.Error = notDeployed(f.Workflow)
	case err != nil:
		return err
	default:
		m.Successor = &interpreter.Version{Workflow: reference.String(), Definition: digest}
	}
	return r.send(ctx, id, &execution.OutgoingMessage{To: f.Run, Message: m})
}

// notDeployed is the error of a workflow that there is not.
func notDeployed(r definition.Reference) *errors.Error {
	return errors.Configurationf("the workflow %s is not deployed here", r)
}

// started reports whether a child has been started already, maybe of a version that was the latest then.
func (r *Relay) started(ctx context.Context, child store.Instance, c *execution.ChildStart) (bool, error) {
	l, err := r.Store.Load(ctx, child)
	if err != nil {
		return false, err
	}
	info, err := execution.ParseInvocation(l.Invocation)
	if err != nil {
		return false, err
	}
	if c.Parent == nil || info.Parent == nil { // the ID contains the task that started it
		return c.Origin != nil && info.Origin != nil && *c.Origin == *info.Origin, nil
	}
	return info.Parent.Instance == c.Parent.Instance && info.Parent.Effect == c.Parent.Effect, nil
}

// failStart answers a parent that its child cannot be started.
func (r *Relay) failStart(ctx context.Context, id string, c *execution.ChildStart, why *errors.Error) error {
	if c.Parent == nil { // and no task waits for it
		if r.Log != nil {
			r.Log.Error("a run cannot be started", "workflow", c.Workflow.String(), "by", c.Origin.String(), "error", why.Error())
		}
		if c.Beside == nil {
			return nil
		}
		m := inbox.Message{Type: interpreter.EventFinished, Effect: c.Beside.Effect}
		return r.send(ctx, id, &execution.OutgoingMessage{To: c.Beside.Instance, Message: m})
	}
	m := inbox.Message{Type: interpreter.EventFinished, Effect: c.Parent.Effect, Error: why}
	return r.send(ctx, id, &execution.OutgoingMessage{To: c.Parent.Instance, Message: m})
}

// tooMany is the error of a start that its family has no room for.
func tooMany(family store.Instance, most int) *errors.Error {
	return errors.Limitf("family: the run %s has led to more runs within a day than the limit of %d", family, most).
		With("limit", string(limits.Family)).With("value", most+1).With("max", most)
}
