package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/store"
)

// Publishers publish an event once a run listens for it, as servers do. Each request to the store, or its answer, may get lost, and so may the
// publisher. Another publisher then publishes the event again, until one of them knows that all listeners received it. Sometimes an event is
// published again later.

// Listeners asks which runs listen.
func (d distant) Listeners(ctx context.Context, c store.Listening) (store.Listeners, error) {
	return roundTrip(d, func() (store.Listeners, error) { return d.Store.Listeners(ctx, c) })
}

// Registered returns an entry of the registry.
func (d distant) Registered(ctx context.Context, kind store.RegistryKind, key string) (store.Registered, error) {
	return roundTrip(d, func() (store.Registered, error) { return d.Store.Registered(ctx, kind, key) })
}

// Deliver delivers a message.
func (d distant) Deliver(ctx context.Context, m store.Delivery) error {
	return send(d, func() error { return d.Store.Deliver(ctx, m) })
}

// beginPublishers starts publishing all events of a run.
func (w *world) beginPublishers(r *run) {
	consumed := 0
	for _, group := range r.kind.published {
		for n, h := range group {
			w.publish(r, h, fmt.Sprintf("%s-%d-%d-%s", r.id, consumed, n, h.kind), consumed)
		}
		for _, h := range group {
			if !h.stray {
				consumed++
			}
		}
	}
}

// publish publishes an event once a run consumed the given number of events and listens for more.
func (w *world) publish(r *run, h happening, id string, after int) {
	subject := r.id
	if h.stray && h.kind == "paid" {
		subject = "nobody"
	}
	event := map[string]any{
		"specversion": "1.0", "source": "/sim", "id": id, "type": h.kind, "subject": subject,
		"data": map[string]any{"run": r.id, "n": h.n, "order": h.order},
	}
	again := w.rng.IntN(2)
	w.operate("publish "+id, time.Duration(w.rng.IntN(500))*time.Millisecond, func() (bool, error) {
		if !w.listensAfter(r, after) {
			return w.ended(r), nil
		}
		return w.publishOnce(event)
	})
	for range again {
		w.operate("publish "+id+" once more", time.Duration(w.rng.IntN(4000))*time.Millisecond, func() (bool, error) {
			if !w.listensAfter(r, after) && !w.listensAfter(r, after+1) {
				return w.ended(r), nil
			}
			return w.publishOnce(event)
		})
	}
}

func (w *world) publishOnce(event map[string]any) (done bool, err error) {
	bus := events.NewBus(distant{w.store, w}, func(context.Context, events.Event, events.Audience) (events.Started, error) {
		return events.Started{}, nil
	}, nil)
	bus.AtOnce = 1 // so that a repeated seed gives the same result
	report, err := bus.Publish(context.Background(), event, nil)
	w.note("%s: %d have it, repeated: %v, %v", event["id"], len(report.Matched), report.Repeated, err)
	return err == nil, err
}

// listensAfter reports whether a run listens and consumed n events.
func (w *world) listensAfter(r *run, n int) bool {
	l, err := w.memory.Load(context.Background(), r.instance)
	if err != nil || l.Lifecycle.Listens == "" || l.Lifecycle.Status.Final() {
		return false
	}
	consumed := 0
	_, err = w.client.History(context.Background(), r.instance, 0, func(e client.HistoryEntry) error {
		for _, h := range e.Events {
			if h.Type == interpreter.EventConsumed {
				consumed++
			}
		}
		return nil
	})
	return err == nil && consumed >= n
}
