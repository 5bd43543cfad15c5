package sources_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/sources"
)

// TestHostileBrokers: with a broker that announces missing data, or sends an endless line, a source reports the fault, and its process takes little
// memory.
func TestHostileBrokers(t *testing.T) {
	const info, pong, huge = "INFO {\"server_id\":\"x\",\"headers\":true,\"max_payload\":1048576}\r\n", "PONG\r\n", "99999999999999"
	line := strings.Repeat("a", 64<<10)
	for name, c := range map[string]struct {
		kind   string
		server brokertest.Hostile
	}{
		"nats, announced":       {"nats", brokertest.Hostile{Answers: []string{info, pong + "MSG c 1 " + huge + "\r\n"}}},
		"nats, with headers":    {"nats", brokertest.Hostile{Answers: []string{info, pong + "HMSG c 1 10 " + huge + "\r\n"}}},
		"nats, endless":         {"nats", brokertest.Hostile{Answers: []string{info, pong + "INFO {"}, Endless: line}},
		"nats, endless hello":   {"nats", brokertest.Hostile{Endless: line}},
		"redis, announced":      {"redis", brokertest.Hostile{Answers: []string{"$" + huge + "\r\n"}}},
		"redis, announced list": {"redis", brokertest.Hostile{Answers: []string{"*" + huge + "\r\n"}}},
		"redis, endless":        {"redis", brokertest.Hostile{Endless: "+" + line}},
		"mqtt, announced":       {"mqtt", brokertest.Hostile{Answers: []string{"\x20\x03\x00\x00\x00", "\x30\xff\xff\xff\x7f"}}},
		"mqtt, first announced": {"mqtt", brokertest.Hostile{Answers: []string{"\x20\xff\xff\xff\x7f"}}},
		"kafka, announced":      {"kafka", brokertest.Hostile{Answers: []string{"\x7f\xff\xff\xff"}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			address := c.server.Start(t)
			from := eventfile.Source{Name: "a", Kind: c.kind, URL: c.kind + "://" + address, Brokers: []string{address}, Stream: "s", Subject: "c", Topic: "c", Topics: []string{"c"}, Group: "g", ClientID: "c"}
			all, err := sources.New([]eventfile.Source{from}, sources.Config{Log: slog.New(slog.DiscardHandler)})
			must(t, err)
			before := brokertest.Allocated()
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = all.Run(ctx) }) // it ends with ctx
			for all.States()[0].Err == nil && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
			running.Wait()
			if took := brokertest.Allocated() - before; took > 48<<20 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
			if why := all.States()[0].Err.Error(); c.kind != "kafka" && !strings.Contains(why, "than a message may have") && !strings.Contains(why, "protocol does not have") {
				t.Errorf("got %s", why)
			}
		})
	}
}
