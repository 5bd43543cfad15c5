package execution

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// apartFrom is the size of data, in bytes, from which history keeps it apart.
const apartFrom = 64 << 10

// propose asks for a commit of the batch; release gives the token back with it.
func (s *Execution) propose(release bool) {
	c, err := s.proposal(release)
	if err != nil {
		s.fail(fmt.Errorf("write what has changed: %w", err))
		return
	}
	s.actions.Commit, s.actions.History = c, s.batch.entries
}

func (s *Execution) proposal(release bool) (*store.Commit, error) {
	if release {
		for _, e := range s.batch.effects { // the next owner begins them
			s.state.DeferEffect(e.ID)
		}
	}
	changes, err := s.changes()
	if err != nil {
		return nil, err
	}
	at := s.batch.at
	if at.IsZero() {
		at = s.Clock()
	}
	c := &store.Commit{
		Instance: s.instance, Token: s.token, Version: s.record.Version, Next: s.record.Version + 1 + s.refused, At: at, Guard: s.batch.guard,
		Changes: changes, Entries: s.batch.encoded, Payloads: s.batch.apart, Records: s.batch.records, Read: s.batch.read,
		Status: s.state.Phase(), Wake: s.wake(), Deadline: s.state.NextDeadline(), Release: release,
	}
	if s.state.Status == interpreter.StatusPending {
		c.Deadline = store.Moment(s.record.Deadline)
	}
	if s.state.Status.Final() {
		c.Reason = s.reason()
		c.Wake, c.Deadline = time.Time{}, time.Time{}
	} else if release {
		c.Ready = s.draining && !s.parks()
	}
	return c, s.encodeOutbox(c)
}

// parks reports whether nothing has to be done before time has passed or a message arrives.
func (s *Execution) parks() bool {
	return s.state.Phase() == interpreter.StatusWaiting && len(s.queue) == 0 && len(s.batch.effects)+len(s.held) == 0 && !s.again
}

// reason tells why the instance is closed (promises.md 203).
func (s *Execution) reason() string {
	switch {
	case s.state.TimedOut:
		return "timed_out"
	case s.state.Status == interpreter.StatusCancelled && s.killed:
		return "terminated"
	}
	return string(s.state.Status)
}

// changes returns what is to be stored of the state. A state that has become too large ends the instance, and is not
// stored itself.
func (s *Execution) changes() (interpreter.Changes, error) {
	changes, err := s.state.TakeChanges()
	if err != nil || s.state.Status.Final() {
		return changes, err
	}
	tooLarge := s.Limits.Check(limits.State, s.state.Size())
	if tooLarge == nil {
		return changes, nil
	}
	s.step(interpreter.Abort{Error: tooLarge})
	s.again = false
	end, err := s.state.TakeChanges() // no frame is left
	end.Context, end.Ended = changes.Context, append(changes.Ended, end.Ended...)
	return end, err
}

// encodeEntry writes an entry of history as it is stored, and counts what it takes.
func (s *Execution) encodeEntry(e interpreter.HistoryStep) error {
	b := &s.batch
	data, err := e.Encode(make([]byte, 0, 512), apartFrom, func(data []byte) string {
		if b.apart == nil {
			b.apart = map[string][]byte{}
		}
		ref := digest(data)
		if b.apart[ref] == nil {
			b.apart[ref] = data
			b.bytes += len(data)
			s.state.AddHistoryBytes(len(data))
		}
		return ref
	})
	if err != nil {
		return err
	}
	b.encoded = append(b.encoded, data)
	b.bytes += len(data)
	s.state.AddHistoryBytes(len(data))
	return nil
}

func (s *Execution) encodeOutbox(c *store.Commit) error {
	all := s.batch.outbox
	if s.state.Status.Final() && s.info.Parent != nil {
		all = append(all, s.outcome())
	}
	for _, o := range all {
		data, err := json.Marshal(o)
		if err != nil {
			return err
		}
		c.Outbox = append(c.Outbox, data)
	}
	return nil
}

// outcome tells the parent how the instance has ended.
func (s *Execution) outcome() Outgoing {
	m := Message{Type: interpreter.EventFinished, Effect: s.info.Parent.Effect}
	switch s.state.Status {
	case interpreter.StatusCompleted:
		m.Result = &interpreter.Value{V: s.state.Output}
	case interpreter.StatusFaulted:
		m.Error = s.state.Fault
	default:
		m.Error = errors.Runtimef("the workflow %s was cancelled", s.instance.ID)
	}
	return Outgoing{Deliver: &OutgoingMessage{To: s.info.Parent.Instance, Message: m}}
}

// start puts the start of a child workflow into the outbox.
func (s *Execution) start(e interpreter.Effect) {
	r, err := interpreter.ReadChildRequest(e.Request.Body)
	if err != nil {
		s.queue = append(s.queue, interpreter.Finished{Effect: e.ID, Error: err})
		return
	}
	start := &ChildStart{
		ID: ChildID(s.instance, e.Request.Path), Workflow: definition.Reference{Namespace: r.Namespace, Name: r.Name, Version: r.Version}, Input: r.Input,
		Depth: s.info.Depth + 1, Family: s.instance,
	}
	if s.info.Family != nil {
		start.Family = *s.info.Family
	}
	if e.Detached {
		start.Origin = &s.instance
	} else {
		start.Parent = &Parent{Instance: s.instance, Effect: e.ID}
		if r.ParentClose != dsl.ParentCloseAbandon {
			start.Parent.Deadline = e.Request.Deadline
		}
		s.adopt(e)
	}
	s.batch.outbox = append(s.batch.outbox, Outgoing{Child: start})
}

// adopt notes which child an effect is about.
func (s *Execution) adopt(e interpreter.Effect) {
	if r, err := interpreter.ReadChildRequest(e.Request.Body); err == nil { // it was written by the task
		s.children[e.ID] = child{store.Instance{Namespace: r.Namespace, ID: ChildID(s.instance, e.Request.Path)}, r.ParentClose}
	}
}

// closing is what a child is told when nobody waits for it any more.
func (c child) closing(killed bool) []Outgoing {
	if c.close == dsl.ParentCloseAbandon {
		return nil
	}
	verb := store.VerbCancel
	if killed || c.close == dsl.ParentCloseTerminate {
		verb = store.VerbTerminate
	}
	m := Message{Type: interpreter.EventCancel, Reason: "the task that started it has ended", Terminated: verb == store.VerbTerminate}
	return []Outgoing{{Deliver: &OutgoingMessage{To: c.instance, Verb: verb, Message: m}}}
}

// ChildID is derived from where the child is started, so that starting it again is the same start.
func ChildID(parent store.Instance, path interpreter.Path) string {
	sum := sha256.Sum256([]byte(parent.String() + "\n" + string(path)))
	return childPrefix(parent) + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:childSuffix])
}

const childSuffix = 12

// childPrefix is what the ids of an instance's children begin with, and those of their children.
func childPrefix(parent store.Instance) string {
	return strings.TrimRight(parent.ID[:min(len(parent.ID), limits.Set{}.Max(limits.ID)-childSuffix-1)], "._~:-") + "."
}

// MayStemFrom reports whether, by its id, i may have been started by root, or by what root has started. Only
// its Invocation tells whether it was.
func MayStemFrom(i, root store.Instance) bool { return strings.HasPrefix(i.ID, childPrefix(root)) }
