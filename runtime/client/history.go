package client

import (
	"cmp"
	"context"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// HistoryEntry is a step of a run's history.
type HistoryEntry struct {
	interpreter.HistoryStep
	CommittedAt time.Time   // by the store's clock
	Token       store.Token // of the owner that committed it
}

// historyPage is how many entries are read at a time.
const historyPage = 200

// History calls f with the entries of a run from a position on, which counts from 0, and returns the position
// behind the last one.
func (c *Client) History(ctx context.Context, i store.Instance, from int, f func(HistoryEntry) error) (next int, err error) {
	counted := &reading{memory: memoryOf(ctx)}
	for {
		stored, err := c.store.History(ctx, i, from, historyPage)
		if err != nil {
			return from, err
		}
		for _, s := range stored {
			e, err := c.step(ctx, i, s, counted)
			if err != nil {
				return from, err
			}
			if err := f(HistoryEntry{HistoryStep: e, CommittedAt: s.At, Token: s.Token}); err != nil {
				return from, err
			}
			from++
		}
		if len(stored) < historyPage {
			return from, nil
		}
	}
}

// step reads an entry with all its data, when there is memory for that.
func (c *Client) step(ctx context.Context, i store.Instance, s store.StoredEntry, counted *reading) (interpreter.HistoryStep, error) {
	if err := counted.add(s.Data); err != nil {
		return interpreter.HistoryStep{}, err
	}
	var unfetched error
	e, err := interpreter.DecodeHistoryStep(s.Data, func(ref string) (data []byte, err error) {
		if data, err = c.store.Payload(ctx, i, ref); err == nil {
			err = counted.add(data)
		}
		unfetched = cmp.Or(unfetched, err)
		return data, err
	})
	if err != nil && unfetched == nil {
		err = execution.Unreadable(i, err)
	}
	return e, err
}

// steps returns the whole history of a run.
func (c *Client) steps(ctx context.Context, i store.Instance) (all []interpreter.HistoryStep, err error) {
	_, err = c.History(ctx, i, 0, func(e HistoryEntry) error {
		all = append(all, e.HistoryStep)
		return nil
	})
	return all, err
}

// Past returns all that is known of a run with a history, to compute it again.
func (c *Client) Past(ctx context.Context, d *Description, steps []interpreter.HistoryStep) (r interpreter.Past, err error) {
	r = interpreter.Past{New: d.Invocation.NewState(d.Instance), Steps: steps}
	first := d.Invocation.First()
	if r.Program, err = c.programs.Program(ctx, first.Definition); err != nil {
		return r, definition.NameUnreadable(first.Workflow, err)
	}
	r.Start = d.Invocation.Start(r.Program, d.Lifecycle)
	for _, e := range steps {
		if m, migrated := e.Migration(); migrated {
			p, err := c.programs.Program(ctx, m.Of.Definition)
			if err != nil {
				return r, err
			}
			r.Migrated = append(r.Migrated, p)
		}
	}
	return r, nil
}

// Follow is History that continues until the run ends, is quarantined (a QuarantinedError), or ctx ends. It polls in intervals, which are
// short as long as there are new entries.
func (c *Client) Follow(ctx context.Context, i store.Instance, from int, f func(HistoryEntry) error) error {
	pause := followAtOnce
	for {
		l, err := c.store.Load(ctx, i)
		if err != nil {
			return err
		}
		next, err := c.History(ctx, i, from, f)
		if err == nil {
			err = notQuarantined(i, &l.Lifecycle)
		}
		if err != nil || l.Lifecycle.Status.Final() {
			return err
		}
		if pause = min(2*pause, followLater); next != from {
			from, pause = next, followAtOnce
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// How long new history may go unnoticed: right after something has happened, and later.
const (
	followAtOnce = time.Millisecond
	followLater  = 100 * time.Millisecond
)
