package tasks_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/grpctest"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

// callGRPC is a call of a method of a service; the document that describes it is the only resource.
const callGRPC = "  - ask: { call: grpc, with: { proto: { endpoint: a.proto }, service: { name: %s, host: 127.0.0.1, port: %s }, method: %s }, timeout: { after: %s } }\n"

func describes(proto string) interpreter.Loader {
	return func(context.Context, string) (interpreter.Resource, error) {
		return interpreter.Resource{Data: []byte(proto)}, nil
	}
}

// TestTimeoutCutsMethod: the server sees its call end.
func TestTimeoutCutsMethod(t *testing.T) {
	server := grpctest.New(nil)
	defer server.Stop()
	config := tasks.Config{Dial: server.Dial, Load: describes(grpctest.Proto)}
	for after := 100 * time.Millisecond; after < time.Minute; after *= 2 { // a machine may be busy
		wantTimeout(t, runDocument(t, config, fmt.Sprintf(callGRPC, "test.Echo", "81", "Wait", fmt.Sprintf("PT%gS", after.Seconds()))), "/do/0/ask")
		select {
		case <-server.Began:
			<-server.Cut
			return
		case <-time.After(after): // it has not arrived
		}
	}
	t.Fatal("no call was cut")
}

// TestLargeAnswers: the size limit of a call applies to one answer, and to all answers of a stream together.
func TestLargeAnswers(t *testing.T) {
	const proto = "syntax = 'proto3'; package a; message M { string text = 1; } service S { rpc One(M) returns (M); rpc Many(M) returns (stream M); }"
	large := func(bytes int) map[string]any { return map[string]any{"text": strings.Repeat("x", bytes)} }
	server := grpctest.New(nil, grpctest.Service{Proto: proto, Handlers: map[string]grpctest.Handler{
		"One": func(s *grpctest.Stream) error { return s.Answer(large(40 << 20)) },
		"Many": func(s *grpctest.Stream) error {
			for {
				if err := s.Answer(large(1 << 20)); err != nil {
					return err
				}
			}
		},
	}})
	defer server.Stop()
	for _, method := range []string{"One", "Many"} {
		outcome := runDocument(t, tasks.Config{Dial: server.Dial, Load: describes(proto)}, fmt.Sprintf(callGRPC, "a.S", "81", method, "PT60S"))
		if outcome.Fault == nil || outcome.Fault.Type != errors.Limit {
			t.Errorf("%s: the run is %s: %v", method, outcome.Status, outcome.Fault)
		}
	}
}

// TestHostileServices: regardless of the server, the call ends, and leaves no connection (reliability B39).
func TestHostileServices(t *testing.T) {
	begins := func(text string, then func(*counterpart, net.Conn)) func(*counterpart, net.Conn) {
		return func(c *counterpart, conn net.Conn) {
			_, _ = io.WriteString(conn, text) // the client may have disconnected
			then(c, conn)
		}
	}
	endless := func(text string) func(*counterpart, net.Conn) {
		return func(c *counterpart, conn net.Conn) {
			go c.listen(conn) // it ends with the connection
			for {
				if _, err := io.WriteString(conn, text); err != nil {
					return
				}
			}
		}
	}
	const settings, ping = "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00\x08\x06\x00\x00\x00\x00\x00pingpong"
	for name, c := range pacetest.ThinnedMap(map[string]struct {
		talk  func(*counterpart, net.Conn)
		port  string
		early bool
	}{
		"accepts and never answers":            {(*counterpart).listen, "81", false},
		"never speaks TLS":                     {(*counterpart).listen, "443", false},
		"says how it speaks, and no more":      {begins(settings, (*counterpart).listen), "81", false},
		"ends the connection":                  {func(*counterpart, net.Conn) {}, "81", true},
		"ends the connection in its middle":    {begins(settings, func(*counterpart, net.Conn) {}), "81", true},
		"speaks another protocol":              {begins("HTTP/1.1 400 Bad Request\r\n\r\n", (*counterpart).listen), "81", true},
		"speaks no protocol":                   {endless(strings.Repeat("x", 1<<16)), "81", true},
		"speaks no TLS":                        {endless(strings.Repeat("x", 1<<16)), "443", true},
		"has a frame that is larger than it":   {begins(settings+"\xff\xff\xff\x00\x00\x00\x00\x00\x01", (*counterpart).listen), "81", true},
		"has a header without end":             {begins(settings+"\x00\x00\x06\x01\x00\x00\x00\x00\x01"+"\x88\x00\x01a\x01b", endless("\x00\x40\x00\x09\x00\x00\x00\x00\x01"+strings.Repeat("\x00\x01a\x01b\x00", 16384/6)+"\x00\x01a\x01")), "81", true},
		"changes how it speaks without end":    {begins("", endless("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00")), "81", false},
		"has a frame of an unknown kind":       {begins(settings+"\x00\x00\x04\x7f\x00\x00\x00\x00\x01xxxx", (*counterpart).listen), "81", false},
		"lets the window overflow":             {begins(settings+strings.Repeat("\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff", 3), (*counterpart).listen), "81", false},
		"asks without end whether it is there": {begins(settings, endless(ping)), "81", false},
	}, 4) { // all of them use the same client
		t.Run(name, func(t *testing.T) {
			wantEnd(t, c.talk, c.early, func(config tasks.Config, url, after string) execution.Outcome {
				config.Load = describes(grpctest.Proto)
				config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
					return tasks.NewDial(nil)(ctx, network, strings.TrimPrefix(url, "http://"))
				}
				return runDocument(t, config, fmt.Sprintf(callGRPC, "test.Echo", c.port, "Say", after))
			})
		})
	}
}
