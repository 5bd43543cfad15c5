package sources_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/sources"
)

// TestDeadLetters: an unacceptable message is copied to the dead letters of its source with all of its parts, so that another source can read it. An
// unacceptable dead letter is not copied again.
func TestDeadLetters(t *testing.T) {
	for kind, start := range brokers() {
		t.Run(kind, func(t *testing.T) {
			b, p := start(t), newPublished(t)
			dead := *b
			dead.from.Name, dead.from.ClientID = "dead", "dead"
			switch kind {
			case "redis":
				b.from.DeadLetters, dead.from.Stream = "dead", "dead"
			case "nats": // the subject belongs to the stream: the copy returns to the same source
				b.from.DeadLetters = "events.dead"
			case "kafka":
				b.from.DeadLetters, dead.from.Topics, dead.from.Group = "dead", []string{"dead"}, "dead"
			case "mqtt":
				b.from.DeadLetters, dead.from.Topic = "dead", "dead"
			}
			dead.from.DeadLetters = "nowhere"
			s, _ := run(t, b, p.publish)
			connected(t, s)
			letters := s
			want := uint64(2)
			if kind != "nats" {
				letters, _ = run(t, &dead, p.publish)
				connected(t, letters)
				want = 1
			}
			b.send(t, structured, nil, `{"specversion": "1.0", "id": "1"`)
			b.send(t, structured, nil, event("2"))
			waitFor(t, "the event after it", func() bool { return p.ids() == "2" })
			waitFor(t, "the dead letter", func() bool { return letters.States()[0].SetAside == want })
			if err := letters.States()[0].Err; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAttributesThatStandTwice: a message with two values of an attribute is no event: neither value is used.
func TestAttributesThatStandTwice(t *testing.T) {
	for kind, start := range brokers() {
		t.Run(kind, func(t *testing.T) {
			b, p := start(t), newPublished(t)
			s, _ := run(t, b, p.publish)
			connected(t, s)
			b.send(t, "application/json", map[string]string{"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "subject": "a", "Subject": "b"}, "{}")
			b.send(t, structured, nil, event("2"))
			waitFor(t, "the event after it", func() bool { return p.ids() == "2" })
			waitFor(t, "the message that is set aside", func() bool { return s.States()[0].SetAside == 1 })
		})
	}
}

// TestDeadLettersThatCannotBeKept: a message is not acknowledged before it is kept.
func TestDeadLettersThatCannotBeKept(t *testing.T) {
	b, p := startRedis(t), newPublished(t)
	o, err := redis.ParseURL(b.from.URL)
	must(t, err)
	client := redis.NewClient(o)
	defer client.Close()
	must(t, client.Set(t.Context(), "dead", "no stream", 0).Err())
	b.from.DeadLetters = "dead"
	b.send(t, "application/json", map[string]string{"specversion": "1.0", "id": "7"}, "{")
	s, _ := run(t, b, p.publish)
	waitFor(t, "the error", func() bool { return s.States()[0].Err != nil && s.States()[0].SetAside == 0 })
	must(t, client.Del(t.Context(), "dead").Err())
	waitFor(t, "the dead letter", func() bool { return s.States()[0].SetAside == 1 })
	all, err := client.XRange(t.Context(), "dead", "-", "+").Result()
	must(t, err)
	if len(all) != 1 || all[0].Values["data"] != "{" || all[0].Values["ce_id"] != "7" || all[0].Values["content-type"] != "application/json" || all[0].Values["swrun-error"] == "" {
		t.Errorf("the dead letters are %v", all)
	}
}

// TestDeadLettersInTheStore: without a place at the broker, an unacceptable message is kept in the store with all of its parts. While the store
// refuses it, it is not acknowledged; it is kept once the store accepts it again.
func TestDeadLettersInTheStore(t *testing.T) {
	for kind, start := range brokers() {
		t.Run(kind, func(t *testing.T) {
			b, p := start(t), newPublished(t)
			kept, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
			must(t, err)
			b.from.Namespaces = []string{"shop"}
			var refused atomic.Int64
			keep := func(ctx context.Context, m deadletter.Message) error {
				if refused.Add(1) <= 2 {
					return errors.New("no space left on device")
				}
				return deadletter.Keep(ctx, kept, m)
			}
			s, err := sources.New([]eventfile.Source{b.from}, sources.Config{Publish: p.publish, Keep: keep, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), ClaimAfter: 200 * time.Millisecond})
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			defer func() { cancel(); <-done }()
			connected(t, s)
			b.send(t, "application/json", map[string]string{"specversion": "1.0", "id": "7"}, "{")
			b.send(t, structured, nil, event("2"))
			waitFor(t, "the event after it", func() bool { return p.ids() == "2" })
			waitFor(t, "the dead letter", func() bool { return s.States()[0].SetAside == 1 })
			all, err := deadletter.All(t.Context(), kept, nil)
			if err != nil || len(all) != 1 || len(all[0].Letters) != 1 || refused.Load() < 3 {
				t.Fatalf("%v: %+v after %d tries", err, all, refused.Load())
			}
			_, l, held, err := deadletter.Load(t.Context(), kept, all[0].ID(all[0].Letters[0]), []string{"shop"})
			if err != nil || string(held.Body) != "{" || held.Attributes["id"] != "7" || len(held.Headers) == 0 || l.Place == "" || l.ContentType != "application/json" || all[0].Kind != kind {
				t.Errorf("%v: %+v %+v", err, l, held)
			}
		})
	}
}
