package sources_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/sources"
)

// hostileBroker answers whatever it reads with the next answer, and sends the last one without end if it is told to.
func hostileBroker(t *testing.T, endless bool, answers ...string) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			serving.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(t.Context(), func() { conn.Close() })()
				for n, answer := range answers {
					for sent := 0; sent == 0 || endless && n == len(answers)-1 && sent < 1<<30; sent += len(answer) {
						if _, err := io.WriteString(conn, answer); err != nil {
							return
						}
					}
					if _, err := conn.Read(make([]byte, 64<<10)); err != nil {
						return
					}
				}
				_, _ = io.Copy(io.Discard, conn) // until the client has gone
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

// TestHostileBrokers has brokers that announce what never comes, or send a line without end: a source says so, and its process takes little memory.
func TestHostileBrokers(t *testing.T) {
	const info, pong, huge = "INFO {\"server_id\":\"x\",\"headers\":true,\"max_payload\":1048576}\r\n", "PONG\r\n", "99999999999999"
	line := strings.Repeat("a", 64<<10)
	for name, c := range map[string]struct {
		kind    string
		endless bool
		answers []string
	}{
		"nats, announced":       {"nats", false, []string{info, pong + "MSG c 1 " + huge + "\r\n"}},
		"nats, with headers":    {"nats", false, []string{info, pong + "HMSG c 1 10 " + huge + "\r\n"}},
		"nats, endless":         {"nats", true, []string{info, pong + "INFO {", line}},
		"nats, endless hello":   {"nats", true, []string{line}},
		"redis, announced":      {"redis", false, []string{"$" + huge + "\r\n"}},
		"redis, announced list": {"redis", false, []string{"*" + huge + "\r\n"}},
		"redis, endless":        {"redis", true, []string{"+" + line}},
		"mqtt, announced":       {"mqtt", false, []string{"\x20\x03\x00\x00\x00", "\x30\xff\xff\xff\x7f"}},
		"mqtt, first announced": {"mqtt", false, []string{"\x20\xff\xff\xff\x7f"}},
		"kafka, announced":      {"kafka", false, []string{"\x7f\xff\xff\xff"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			address := hostileBroker(t, c.endless, c.answers...)
			from := eventfile.Source{Name: "a", Kind: c.kind, URL: c.kind + "://" + address, Brokers: []string{address}, Stream: "s", Subject: "c", Topic: "c", Topics: []string{"c"}, Group: "g", ClientID: "c"}
			all, err := sources.New([]eventfile.Source{from}, sources.Config{Log: slog.New(slog.DiscardHandler)})
			must(t, err)
			before := allocated()
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = all.Run(ctx) }) // it ends with ctx
			for all.States()[0].Err == nil && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
			running.Wait()
			if took := allocated() - before; took > 48<<20 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
			if why := all.States()[0].Err.Error(); c.kind != "kafka" && !strings.Contains(why, "than a message may have") && !strings.Contains(why, "protocol does not have") {
				t.Errorf("got %s", why)
			}
		})
	}
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
