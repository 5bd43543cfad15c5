package tasks_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

// asyncAPI returns a loader of a document of one server and the channel orders.
func asyncAPI(protocol, server string) interpreter.Loader {
	return describes(fmt.Sprintf("asyncapi: 2.6.0\nservers: {one: {url: '%s', protocol: %s}}\nchannels: {orders: {publish: {}, subscribe: {}}}\n", server, protocol))
}

const (
	publishes  = "  - a: {call: asyncapi, with: {document: {endpoint: x.yaml}, channel: orders, message: {payload: {a: 1}}}, timeout: {after: %s}}\n"
	subscribes = "  - a: {call: asyncapi, with: {document: {endpoint: x.yaml}, channel: orders, subscription: {consume: {amount: 1}}}, timeout: {after: %s}}\n"
)

// bothWays calls use for each call with each protocol that it can use, and with the name of the case.
func bothWays(use func(name, protocol, call string)) {
	for _, protocol := range brokerProtocols() {
		use(protocol, protocol, publishes)
		use(protocol+" subscribing", protocol, subscribes)
	}
}

func brokerProtocols() []string {
	return []string{"amqp", "amqp1", "kafka", "mqtt", "mqtt5", "nats", "redis", "ws"}
}

// TestTimeoutCutsBrokers: a broker that accepts connections and sends nothing sees that the client no longer waits (reliability B39).
func TestTimeoutCutsBrokers(t *testing.T) {
	bothWays(func(name, protocol, call string) {
		t.Run(name, func(t *testing.T) {
			began, cut := make(chan struct{}, 1), make(chan struct{}, 1)
			server := mustListen(t, func(c *counterpart, conn net.Conn) {
				note(began)
				c.listen(conn)
				note(cut)
			})
			for after := 0.2; ; after *= 2 { // a machine may be busy
				outcome := runDocument(t, tasks.Config{Load: asyncAPI(protocol, server.Addr().String())}, fmt.Sprintf(call, fmt.Sprintf("PT%gS", after)))
				wantTimeout(t, outcome, "/do/0/a")
				select {
				case <-began:
					<-cut
					return
				default:
				}
				if after > 60 {
					t.Fatal("the broker was never reached, so that nothing is shown")
				}
			}
		})
	})
}

func note(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// TestHostileBrokers: regardless of the data of a broker, the call ends with an error that the workflow can catch, and leaves no connection
// (reliability B39, B41).
func TestHostileBrokers(t *testing.T) {
	bothWays(func(way, protocol, call string) {
		for name, talk := range map[string]func(*counterpart, net.Conn){
			"hangs up":          func(_ *counterpart, conn net.Conn) {},
			"speaks HTTP":       says([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")),
			"says nonsense":     says(bytes.Repeat([]byte{0xff}, 1<<16)),
			"never stops":       floods("", strings.Repeat("INFO {\"a\":1}\r\n", 1000)),
			"never ends a line": floods("", strings.Repeat("x", 1<<16)),
		} {
			t.Run(way+" "+name, func(t *testing.T) {
				t.Parallel()
				server := mustListen(t, talk)
				outcome := runDocument(t, tasks.Config{Load: asyncAPI(protocol, server.Addr().String())}, fmt.Sprintf(call, "PT2S"))
				wantWire(t, outcome)
			})
		}
	})
}

// says returns a counterpart that sends text, and listens.
func says(text []byte) func(*counterpart, net.Conn) {
	return func(c *counterpart, conn net.Conn) {
		if _, err := conn.Write(text); err == nil {
			_, _ = io.Copy(io.Discard, conn) // until the client hangs up
		}
	}
}

// wantWire checks that a call failed because of the other side, or within its time.
func wantWire(t *testing.T, outcome execution.Outcome) {
	t.Helper()
	if f := outcome.Fault; f == nil || f.Type != errors.Limit && !errors.Same(f.Type, errors.Communication) && !errors.Same(f.Type, errors.Timeout) {
		t.Errorf("the run is %s: %v, want an error of communication, a limit, or a timeout", outcome.Status, outcome.Fault)
	}
}
