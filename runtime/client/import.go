package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// notImportable is the error of an archive that cannot be imported.
func notImportable(format string, args ...any) error {
	return &OptionError{Field: "stored", Detail: fmt.Sprintf(format, args...)}
}

// imported is an archive that was read and found to be right.
type imported struct {
	run    store.Imported
	info   *execution.Invocation
	steps  []interpreter.HistoryStep
	states *interpreter.Program // of the definition that it has
}

// Import stores a run of another store, with its ID, history and definitions. Its deadlines and delays keep their absolute times: a
// deadline that passed fires immediately. A run in progress continues here, even if it also continues in the other store. An existing run
// is refused as a Conflict, and so is a run whose workflow is deployed with another document.
func (c *Client) Import(ctx context.Context, a *Archive) (store.Instance, error) {
	i := a.Instance()
	r, err := c.readArchive(a)
	if err != nil {
		return i, err
	}
	if _, err := c.store.Load(ctx, i); err == nil {
		return i, refused(i, "is there already")
	} else if store.RefusedAs(err) != store.NoSuch {
		return i, err
	}
	for _, d := range a.Definitions {
		if err := c.CheckGranted(ctx, d); err != nil {
			return i, err
		}
	}
	if err := c.importDefinitions(ctx, a, r.info); err != nil {
		return i, err
	}
	start, err := r.info.StartRequest(i, c.limits, c.store.Layout().Partitions)
	if err != nil {
		return i, err
	}
	start.Invocation, start.Imported, start.FamilyMax = a.Invocation, &r.run, 0
	started, err := c.store.Start(ctx, start)
	if started.Again || store.RefusedAs(err) == store.Conflict { // a concurrent caller was faster
		return i, refused(i, "is there already")
	}
	return i, err
}

// importDefinitions stores the definitions of a run, and deploys its own definition.
func (c *Client) importDefinitions(ctx context.Context, a *Archive, info *execution.Invocation) error {
	_, deployed, err := definition.Resolve(ctx, c.store, info.Workflow)
	if err != nil && store.RefusedAs(err) != store.NoSuch {
		return err
	}
	other := &store.Refusal{Code: store.Conflict, Detail: "workflow " + info.Workflow.String(), Reason: "is deployed already, and is another document"}
	if err == nil && deployed != info.Definition {
		return other
	}
	for _, d := range a.Definitions {
		if _, err := definition.Put(ctx, c.store, info.Workflow.Namespace, d); err != nil {
			return err
		}
	}
	if err == nil {
		return nil
	}
	_, err = c.Deploy(ctx, a.Definitions[0])
	if store.RefusedAs(err) == store.Conflict {
		return other
	}
	return err
}

// readArchive reads an archive and reports inconsistent parts.
func (c *Client) readArchive(a *Archive) (r *imported, err error) {
	defer func() {
		if v := recover(); v != nil { // references of a state are resolved only on use, and the state is untrusted
			r, err = nil, notImportable("does not fit together: %v", v)
		}
	}()
	if err := a.Instance().Check(); err != nil {
		return nil, notImportable("has no id: %s", err)
	}
	if a.Activities > 0 {
		return nil, refused(a.Instance(), "waits for %d activities of outside workers, which cannot be taken to another store: export it when they end", a.Activities)
	}
	r = new(imported)
	if r.info, err = execution.ParseInvocation(a.Invocation); err != nil {
		return nil, notImportable("cannot be read: %s", err)
	}
	for _, part := range []func(*Archive, *imported) error{c.readDefinitions, readRecord, readHistory, c.readState, readMessages} {
		if err := part(a, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readDefinitions checks that all definitions are present and match their names.
func (c *Client) readDefinitions(a *Archive, r *imported) error {
	digests, err := a.digests(r.info)
	if err != nil {
		return notImportable("has a history that cannot be read: %s", err)
	}
	for n, digest := range digests {
		if n >= len(a.Definitions) || a.Definitions[n].Digest() != digest {
			return notImportable("has not the definition %s", digest)
		}
		p, err := c.programs.Compile(a.Definitions[n])
		if err != nil {
			return notImportable("has a definition that is not valid: %s", err)
		}
		if n == 0 {
			r.states = p
		}
	}
	if called, err := a.Definitions[0].Reference(); err != nil || called != r.info.Workflow || len(a.Definitions) != len(digests) {
		return notImportable("is a run of %s, and has the definition of %s", r.info.Workflow, called)
	}
	if r.info.Workflow.Namespace != a.Namespace {
		return notImportable("is a run in %s of a workflow of another namespace, %s", a.Namespace, r.info.Workflow.Namespace)
	}
	return nil
}

// maxCount is more than anything of a run is ever counted to, and leaves room to count on.
const maxCount = 1 << 53

// readRecord reads the lifecycle.
func readRecord(a *Archive, r *imported) (err error) {
	l := &r.run.Lifecycle
	if *l, err = store.ParseLifecycle(a.Record); err != nil {
		return notImportable("cannot be read: %s", err)
	}
	known := []interpreter.Status{
		interpreter.StatusPending, interpreter.StatusRunning, interpreter.StatusWaiting, interpreter.StatusSuspended, interpreter.StatusCancelled, interpreter.StatusFaulted, interpreter.StatusCompleted,
	}
	reasons := append(store.ClosedReasons(), store.Quarantined, "")
	counts := []int64{l.Epoch, l.Version, l.Read, l.Deaths, l.Records, l.Entries, l.Attempts}
	negative := slices.Min(counts) < 0 || slices.Max(counts) > maxCount
	ends := l.Status.Final() == l.Closed.IsZero() || l.Status.Final() && (l.Reason == "" || l.Reason == store.Quarantined) || !l.Status.Final() && l.Reason != "" && l.Reason != store.Quarantined
	if !slices.Contains(known, l.Status) || !slices.Contains(reasons, l.Reason) || negative || ends || l.Created.IsZero() {
		return notImportable("has a record that no run has: %s", a.Record)
	}
	return nil
}

// readHistory checks that the history is whole.
func readHistory(a *Archive, r *imported) (err error) {
	if r.run.History, r.steps, err = a.steps(); err != nil {
		return notImportable("has a history that cannot be read: %s", err)
	}
	records := int64(0)
	for _, e := range r.steps {
		for _, ev := range e.Events {
			if records++; int64(ev.Seq) != records {
				return notImportable("has a history with gaps: record %d is numbered %d", records, ev.Seq)
			}
		}
	}
	if l := &r.run.Lifecycle; records != l.Records || int64(len(r.steps)) != l.Entries {
		return notImportable("has %d of %d records of its history", records, l.Records)
	}
	r.run.Payloads = a.Payloads
	return nil
}

// readState checks that the state belongs to the definition and to the record.
func (c *Client) readState(a *Archive, r *imported) error {
	l := &r.run.Lifecycle
	r.run.State = interpreter.StoredState{Head: a.Head, Context: a.Context, Frames: a.Frames}
	if a.Head == nil {
		if l.Status.Final() || len(a.Frames) > 0 || len(a.History) > 0 {
			return notImportable("has no state")
		}
		if f := r.info.Fork; f == nil || f.Task == "" {
			return nil
		}
		_, err := r.restored(a, r.info.Fork.State) // which it begins with
		return err
	}
	s, err := r.restored(a, r.run.State)
	if err != nil {
		return err
	}
	if s.Phase() != l.Status {
		return notImportable("is %s by its record, and %s by its state", l.Status, s.Phase())
	}
	size := len(a.Head) + len(a.Context)
	for _, f := range a.Frames {
		size += len(f)
	}
	if err := c.limits.Check(limits.State, size); err != nil {
		return limited("stored", err)
	}
	return nil
}

// restored returns a state of the run, which must belong to its definition.
func (r *imported) restored(a *Archive, stored interpreter.StoredState) (*interpreter.State, error) {
	s, err := interpreter.Restore(r.states, r.info.NewState(a.Instance()), r.info.Input.V, stored)
	if err != nil {
		return nil, notImportable("has a state that cannot be read: %s", err)
	}
	if err := interpreter.CheckMoves(r.states, r.states, s, nil); err != nil {
		return nil, notImportable("has a state of another definition: %s", err)
	}
	return s, nil
}

// readMessages checks that a worker can read the messages that wait for it.
func readMessages(a *Archive, r *imported) error {
	if len(a.Messages) > 0 && r.run.Lifecycle.Status.Final() {
		return notImportable("ended, and has messages")
	}
	for _, data := range a.Messages {
		m, err := inbox.Parse(data)
		if err == nil {
			_, err = m.Event()
		}
		if err != nil {
			return notImportable("has a message that cannot be read: %s", err)
		}
		r.run.Messages = append(r.run.Messages, data)
	}
	return nil
}
