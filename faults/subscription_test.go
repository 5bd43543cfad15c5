package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
)

// orders consumes messages, and calls the sink for each.
const orders = `do:
- orders:
    call: asyncapi
    with:
      document: {endpoint: orders.yaml}
      operation: ordersPlaced
      protocol: %s
      subscription:
        consume: {amount: %d}
        foreach:
          item: order
          do:
          - note: {call: http, with: {method: get, endpoint: '${ "@SINK/" + ($order.payload | tostring) }'}}
          - number: {set: "${ $order.payload }"}
`

const ordersDocument = `asyncapi: 3.0.0
servers: {events: {host: '%s', protocol: kafka}, subjects: {host: '%s', protocol: nats}}
channels: {orders: {address: kept.orders}}
operations: {ordersPlaced: {action: send, channel: {$ref: "#/channels/orders"}}}
`

// TestSubscriptions (F1): workers are killed in the middle of subscriptions. Each message is consumed once, in order, and none is lost; the call for
// a message has one key.
func TestSubscriptions(t *testing.T) {
	w := newWorld(t, 10*time.Millisecond)
	kafka, err := brokertest.Kafka("kept.orders")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Stop)
	nats, err := brokertest.NATS(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nats.Stop)
	const messages = 40
	addresses := map[string]string{"kafka": kafka.Address, "nats": nats.Address}
	for protocol := range addresses {
		w.startWith(1, fmt.Sprintf(orders, protocol, messages), map[string]string{"orders.yaml": fmt.Sprintf(ordersDocument, kafka.Address, nats.Address)})
	}
	current := w.work()
	w.await("both have subscribed", func() bool { return w.finishedEffects() == len(w.runs) })
	var all []int
	for order := range messages {
		all = append(all, order)
	}
	publish := func(from, to int) {
		for protocol, address := range addresses {
			publishOrders(t, protocol, address, all[from:to])
		}
	}
	total := messages * len(w.runs)
	for round := range 2 { // neither has all of its messages when the worker is killed
		publish(round*messages/3, (round+1)*messages/3)
		w.await("messages are consumed", func() bool { return w.progressed() >= (round+1)*total/4 })
		current.kill()
		current = w.work()
	}
	publish(2*messages/3, messages)
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, nil)
	var want []any
	for n := range messages {
		want = append(want, json.Number(fmt.Sprint(n)))
	}
	for _, i := range w.runs {
		outcome, _, err := w.client.Outcome(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(outcome.Output)); diff != "" {
			t.Errorf("%s has consumed (-want +got):\n%s", i, diff)
		}
	}
	if keys, again := w.sink.counts(); keys != total || again > 2*len(w.runs) {
		t.Errorf("%d different calls, %d repeated; want %d, one for each message", keys, again, total)
	}
}

// finishedEffects returns the number of committed effects of all runs.
func (w *world) finishedEffects() (n int) {
	w.Helper()
	for _, i := range w.runs {
		if _, err := w.client.History(w.Context(), i, 0, func(e client.HistoryEntry) error {
			for _, r := range e.Events {
				if r.Type == interpreter.EffectFinished {
					n++
				}
			}
			return nil
		}); err != nil {
			w.Fatal(err)
		}
	}
	return n
}

// publishOrders publishes numbers, one after the other.
func publishOrders(t *testing.T, protocol, address string, orders []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	channel := asyncapi.Target{Protocol: protocol, Addresses: []string{address}, Channel: "kept.orders"}
	c := &brokers.Client{Target: channel, Dial: new(net.Dialer).DialContext, MaxRead: 1 << 20}
	for _, order := range orders {
		if err := c.Publish(ctx, brokers.Message{Payload: fmt.Append(nil, order), ContentType: "application/json"}); err != nil {
			t.Fatal(err)
		}
	}
}
