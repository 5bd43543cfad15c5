package runtime

import (
	"context"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// HistoryEntry is a step of an instance's history.
type HistoryEntry struct {
	interpreter.Entry
	CommittedAt time.Time // by the store's clock
	Token       Token     // of the owner that committed it
}

// historyPage is how many entries are read at a time.
const historyPage = 200

// History calls f with the entries of an instance from a position on, which counts from 0, and returns the position
// behind the last one.
func (c *Client) History(ctx context.Context, i Instance, from int, f func(HistoryEntry) error) (next int, err error) {
	for {
		stored, err := c.store.History(ctx, i, from, historyPage)
		if err != nil {
			return from, err
		}
		for _, s := range stored {
			e, err := interpreter.DecodeEntry(s.Data, func(ref string) ([]byte, error) { return c.store.Payload(ctx, i, ref) })
			if err != nil {
				return from, err
			}
			if err := f(HistoryEntry{Entry: e, CommittedAt: s.At, Token: s.Token}); err != nil {
				return from, err
			}
			from++
		}
		if len(stored) < historyPage {
			return from, nil
		}
	}
}

// Follow is History that goes on until the instance has ended or ctx ends. It looks again when the store gives a hint,
// and at intervals.
func (c *Client) Follow(ctx context.Context, i Instance, from int, f func(HistoryEntry) error) error {
	watch, stop := context.WithCancel(ctx)
	defer stop()
	hints := c.store.Hints(watch)
	for {
		l, err := c.store.Load(ctx, i)
		if err != nil {
			return err
		}
		if from, err = c.History(ctx, i, from, f); err != nil || l.Record.Status.Final() {
			return err
		}
		timer := time.NewTimer(followPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		case <-hints:
			timer.Stop()
		}
	}
}

// followPause is how long new history may go unnoticed.
const followPause = 50 * time.Millisecond
