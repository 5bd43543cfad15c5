package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// wakeFault is a fault of the messages of Redis that announce work.
type wakeFault struct {
	name  string
	begin []string // commands
	storm func(ctx context.Context, admin *redis.Client, channel string)
}

func wakeFaults() []wakeFault {
	return []wakeFault{
		{name: "nobody hears them", begin: []string{"ACL SETUSER default -subscribe", "CLIENT KILL TYPE pubsub"}},
		{name: "thousands of them lie", storm: func(ctx context.Context, admin *redis.Client, channel string) {
			lies := []string{"0", "7", "-1", "99", "", "no number", "3 test/nobody", "5 no-such-queue", "1 " + string(make([]byte, 1000))}
			for ctx.Err() == nil {
				pipe := admin.Pipeline()
				for n := range 100 {
					pipe.Publish(ctx, channel, lies[n%len(lies)])
				}
				_, _ = pipe.Exec(ctx) // it ends with the test
				time.Sleep(10 * time.Millisecond)
			}
		}},
	}
}

// TestWakeChannel (F36): the messages that announce work are lost, or thousands of them are false. Events reach their listeners anyway, and due work is done.
func TestWakeChannel(t *testing.T) {
	t.Parallel()
	for _, fault := range wakeFaults() {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(newWorld(t, 0))
			admin := p.redisClient()
			var channels []string
			p.await("workers hear what is announced", func() bool {
				channels = admin.PubSubChannels(t.Context(), "*hints").Val()
				return len(channels) == 1 && admin.PubSubNumSub(t.Context(), channels...).Val()[channels[0]] == 4
			})
			p.give(admin, fault.begin)
			ctx, cancel := context.WithCancel(t.Context())
			var storm sync.WaitGroup
			if fault.storm != nil {
				storm.Go(func() { fault.storm(ctx, admin, channels[0]) })
			}
			p.hearing()
			cancel()
			storm.Wait()
		})
	}
}

// hearing lets runs wait for a time and for events, and expects that none is late.
func (p *plant) hearing() {
	p.Helper()
	n := of(30)
	p.startEach(n, `do: [{w: {wait: PT0.1S}}, {l: {listen: {to: {all: [{with: {type: paid}, correlate: {order: {from: .data.order, expect: .order}}}, {with: {type: news}}]}}}}]`)
	p.awaitListening(n, "news")
	var all []event
	for order := range n {
		all = append(all, newEvent("paid", fmt.Sprintf("paid-%d", order), map[string]any{"order": order}))
	}
	p.publishAll(append(all, newEvent("news", "news", nil)), nil)
	p.settle(pacetest.Patience)
	var latest time.Duration
	p.audit(interpreter.StatusCompleted, func(_ store.Instance, entries []client.HistoryEntry) {
		for _, e := range entries {
			for _, r := range e.Events {
				if r.Type == interpreter.EventConsumed && !r.Until.IsZero() {
					latest = max(latest, e.CommittedAt.Sub(r.Until))
				}
			}
		}
	})
	p.Logf("the latest event was consumed %s after it had come", latest)
	if latest > soon {
		p.Errorf("an event was consumed %s after it had come", latest)
	}
}
