package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/redisstore/redistest"
)

// deadMessages are the messages of a broker that could not be published, and the command that lists them.
type deadMessages struct {
	*hosted
	target []string
	client *redis.Client
}

// sends adds a message to the stream of the source.
func (d *deadMessages) sends(body string) {
	d.Helper()
	if err := d.client.XAdd(d.Context(), &redis.XAddArgs{Stream: "orders", Values: []any{"event", body}}).Err(); err != nil {
		d.Fatal(err)
	}
}

// says runs a verb of swrun events dead, and returns its standard output and standard error.
func (d *deadMessages) says(want int, args ...string) (out, err string) {
	d.Helper()
	c := capture(nil)
	c.now = time.Now
	args = append(append([]string{"events", "dead"}, args...), d.target...)
	if code := run(args, c.streams); code != want {
		d.Fatalf("swrun %s ends with %d, want %d: %s%s", strings.Join(args, " "), code, want, c.stdout.String(), c.stderr.String())
	}
	return c.stdout.String(), c.stderr.String()
}

// listed waits until a number of messages is listed, and returns them.
func (d *deadMessages) listed(want int) (all []api.DeadMessage) {
	d.Helper()
	eventually(d.T, fmt.Sprint(want, " messages are listed"), func() bool {
		out, _ := d.says(exitOK, "ls", "-o", "json")
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			d.Fatal(err)
		}
		return len(all) == want
	})
	return all
}

// serveOrders serves with a source that reads a stream of Redis.
func serveOrders(t *testing.T, target func(h *hosted, s *serving) []string) *deadMessages {
	t.Helper()
	broker := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: broker.Addr})
	t.Cleanup(func() { client.Close() })
	file := mustWriteFile(t, "events.yaml", fmt.Sprintf("sources: {orders: {redis: {url: '%s', stream: orders, group: swrun}}}\n", broker.URL()))
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	return &deadMessages{h, target(h, h.serve("--events", file)), client}
}

func targetsOfServer() map[string]func(*hosted, *serving) []string {
	return map[string]func(*hosted, *serving) []string{
		"--server": func(_ *hosted, s *serving) []string { return []string{"--server", s.url} },
		"--store":  func(h *hosted, _ *serving) []string { return []string{"--store", h.url} },
	}
}

// TestDeadMessagesOfABroker: a message of a broker that is no event is listed with its place and the reason. A retry is refused as long as the
// message is no event; drop removes it. An unknown id is refused, and then the other messages stay unchanged.
func TestDeadMessagesOfABroker(t *testing.T) {
	for name, target := range targetsOfServer() {
		t.Run(name, func(t *testing.T) {
			d := serveOrders(t, target)
			const event, other = `{"specversion":"1.0","id":"1","source":"/s","type":"t","data":1}`, `{"specversion":"1.0","id":"1","source":"/s","type":"t","data":2}`
			d.sends("{")
			broken := d.listed(1)[0]
			if broken.Source != "orders" || broken.Kind != "redis" || broken.Place == "" || broken.Error == "" || broken.Bytes != 1 || broken.Times != 1 {
				t.Errorf("it is listed as %+v", broken)
			}
			if out, _ := d.says(exitOK, "ls", "orders"); !strings.Contains(out, broken.ID) || !strings.Contains(out, broken.Place) {
				t.Errorf("the table is\n%s", out)
			}
			if out, _ := d.says(exitOK, "get", broken.ID, "--jq", ".body"); out != "{\n" && out != "\"{\"\n" {
				t.Errorf("its body is %q", out)
			}
			d.sends(event)
			d.sends(other) // with the id of the other message
			all := d.listed(2)
			d.refusesUnknown(all)
			out, said := d.says(exitInput, "retry", "orders", "--reason", "a try")
			for _, m := range all {
				if !strings.Contains(out, m.ID+" is kept: ") {
					t.Errorf("%s is not refused again:\n%s", m.ID, out)
				}
			}
			if !strings.Contains(said, "2 messages of 2 cannot be published") || !strings.Contains(said, "swrun events dead drop") {
				t.Errorf("retry says %s", said)
			}
			d.listed(2)
			if out, _ := d.says(exitOK, "drop", broken.ID); out != broken.ID+" dropped\n" {
				t.Errorf("drop prints %q", out)
			}
			d.says(exitNotFound, "drop", broken.ID) // it is gone
			if left := d.listed(1); left[0].ID == broken.ID {
				t.Errorf("left is %+v", left)
			}
			d.says(exitOK, "drop", "orders")
			d.listed(0)
		})
	}
}

// refusesUnknown uses unknown ids, also together with known ids.
func (d *deadMessages) refusesUnknown(all []api.DeadMessage) {
	d.Helper()
	for _, id := range []string{"none", "none/0000000000000000", "orders/0000000000000000", "orders/", "/", "a b/c", all[0].ID + "/x", strings.ToUpper(all[0].ID), "ORDERS", strings.Repeat("x", 5000)} {
		if _, said := d.says(exitNotFound, "get", id); !strings.Contains(said, "dead letter") || len(said) > 1000 {
			d.Errorf("get %q says %s", id, said)
		}
		for _, verb := range []string{"retry", "drop"} {
			if out, said := d.says(exitNotFound, verb, all[0].ID, id); out != "" || !strings.Contains(said, "dead letter") || len(said) > 1000 {
				d.Errorf("%s %q says %s %s", verb, id, out, said)
			}
		}
	}
	d.says(exitUsage, "get")
	d.says(exitUsage, "retry", " ")
	d.says(exitUsage, "drop")
	d.says(exitUsage, "get", all[0].ID, all[1].ID)
	d.listed(len(all))
}

// TestForgottenDeadMessages: the list of messages that could not be published contains the number of older messages that are not kept any more.
func TestForgottenDeadMessages(t *testing.T) {
	for name, target := range targetsOfServer() {
		t.Run(name, func(t *testing.T) {
			d := serveOrders(t, target)
			const more = 3
			for n := range deadletter.MaxOfSource + more {
				d.sends("{" + strings.Repeat("x", n)) // each is different
			}
			eventually(t, "all have come", func() bool {
				_, said := d.says(exitOK, "ls")
				return strings.Contains(said, "3 older messages of the source orders made room for newer ones, and are not kept")
			})
			if all := d.listed(deadletter.MaxOfSource); all[0].Forgotten != more {
				t.Errorf("the first one is %+v", all[0])
			}
			if _, said := d.says(exitOK, "ls", "other"); said != "" {
				t.Errorf("of another source it says %s", said)
			}
		})
	}
}
