package events

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// slowReader is a store that is slow to return listeners: for each filter one run, named like its key.
type slowReader struct {
	store.Reader
	mu    sync.Mutex
	asked []store.Listening
}

func (r *slowReader) Listeners(ctx context.Context, c store.Listening) (found store.Listeners, err error) {
	r.mu.Lock()
	r.asked = append(r.asked, c)
	r.mu.Unlock()
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return found, ctx.Err()
	}
	for n, f := range c.Filters {
		if f.Key == "fails" {
			return found, errors.New("the store fails")
		}
		found.Runs = append(found.Runs, store.ListeningRuns{Filter: n, Runs: []store.Instance{{ID: f.Key}}})
	}
	for _, t := range c.Types {
		found.AddFrom(interpreter.EventFilter{Type: t.Type, From: "x"})
	}
	return found, nil
}

// asks asks for the listeners of some keys.
func (a *asking) asks(ctx context.Context, kind string, keys ...string) (string, error) {
	var filters []store.ListenFilter
	for _, key := range keys {
		filters = append(filters, store.ListenFilter{EventFilter: interpreter.EventFilter{Type: kind, Key: key}})
	}
	answer, err := a.listeners(ctx, []store.ListenType{{Type: kind}}, filters)
	return fmt.Sprint(answer.From, answer.Runs), err
}

// TestAskingTogether: events that come while the store answers ask together, and each gets its own answer.
func TestAskingTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &slowReader{}
		a := &asking{store: r, turn: make(chan struct{}, 1)}
		var all sync.WaitGroup
		for n := range 100 {
			all.Go(func() {
				kind, own, common := fmt.Sprint("t", n%2), fmt.Sprint("k", n), "common"
				want := fmt.Sprintf("[{%s x }] [{0 0 [/%s]} {0 1 [/%s]}]", kind, common, own)
				if got, err := a.asks(t.Context(), kind, common, own); err != nil || got != want {
					t.Errorf("%s, %v; want %s", got, err, want)
				}
			})
		}
		all.Wait()
		if n := len(r.asked); n > 5 { // one alone, and the others by 32
			t.Errorf("the store was asked %d times", n)
		}
		for _, c := range r.asked {
			if len(c.Types) > 2 || len(c.Filters) > maxTogether+2 {
				t.Errorf("%d types and %d filters are asked for", len(c.Types), len(c.Filters))
			}
		}
	})
}

// TestAskingEnds: a caller that gives up does not take the answers from the others, even if it asks on their behalf; and an error concerns
// only the callers of the same query.
func TestAskingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asking{store: &slowReader{}, turn: make(chan struct{}, 1)}
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := a.asks(leaving, "t", "a"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		for _, key := range []string{"b", "c"} {
			all.Go(func() {
				if got, err := a.asks(t.Context(), "t", key); err != nil || got != "[{t x }] [{0 0 [/"+key+"]}]" {
					t.Error(got, err)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		if _, err := a.asks(t.Context(), "t", "fails"); err == nil {
			t.Error("an error of the store is not returned")
		}
		if _, err := a.asks(t.Context(), "t", "d"); err != nil {
			t.Error(err)
		}
	})
}
