package tasks_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/a2atest"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

const askAgent = "  - ask: { call: a2a, with: { method: %s, server: '%s/rpc', parameters: { message: { parts: [{ kind: text, text: %s }] } } }, timeout: { after: %s } }\n"

// mustServeAgent serves an agent of the protocol's library.
func mustServeAgent(t *testing.T) (agent *a2atest.Agent, url string) {
	t.Helper()
	agent = a2atest.New(a2atest.Card("http://agent.test"))
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	return agent, server.URL
}

// TestTimeoutCutsAgent: an agent that never ends sees that the client no longer waits for its answer, or for the next event of its stream.
func TestTimeoutCutsAgent(t *testing.T) {
	for _, method := range []string{"message/send", "message/stream"} {
		t.Run(method, func(t *testing.T) {
			agent, url := mustServeAgent(t)
			for after := 200 * time.Millisecond; after < time.Minute; after *= 2 { // a machine may be busy
				wantTimeout(t, runDocument(t, tasks.Config{}, fmt.Sprintf(askAgent, method, url, "wait", fmt.Sprintf("PT%gS", after.Seconds()))), "/do/0/ask")
				select {
				case <-agent.Began:
					<-agent.Cut
					return
				default: // the message has not arrived
				}
			}
			t.Fatal("the agent has not begun, so that nothing is shown")
		})
	}
}

// TestTimeoutCutsCard: a timeout also ends the request for a card.
func TestTimeoutCutsCard(t *testing.T) {
	for name, with := range map[string]string{"of an agent": `agentCard: { endpoint: '${ "%s/card" }' }`, "of a host": "server: '%s'"} {
		t.Run(name, func(t *testing.T) {
			wantCut(t, "{", "/do/0/ask", func(url, after string) execution.Outcome {
				config := tasks.Config{Load: tasks.Loader("t.yaml", tasks.Sources{Transport: http.DefaultTransport})}
				return runDocument(t, config, fmt.Sprintf("  - ask: { call: a2a, with: { method: tasks/list, "+with+" }, timeout: { after: %s } }\n", url, after))
			})
		})
	}
}

// TestStreamThatIsTakenUpAgain: the results of a task in progress reach each subscriber, until the task is cancelled.
func TestStreamThatIsTakenUpAgain(t *testing.T) {
	agent, url := mustServeAgent(t)
	subscribed := make(chan struct{})
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/subscribed/rpc" {
			r.URL.Path = "/rpc"
			agent.ServeHTTP(&told{w, sync.OnceFunc(func() { close(subscribed) })}, r)
			return
		}
		<-subscribed
		agent.ServeHTTP(w, r)
	}))
	defer between.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf(`  - begin: { call: a2a, with: { method: message/send, server: '%[1]s/rpc', parameters: { message: { parts: [{ kind: text, text: wait }] }, configuration: { blocking: false } } } }
  - both:
      timeout: { after: PT60S }
      fork:
        branches:
          - again: { call: a2a, with: { method: tasks/resubscribe, server: '%[2]s/subscribed/rpc', parameters: { id: '${ .id }' } } }
          - cancel: { call: a2a, with: { method: tasks/cancel, server: '%[2]s/rpc', parameters: { id: '${ .id }' } } }
      output: { as: '[.[0][-1].status.state, .[0][-1].final, .[1].status.state]' }
`, url, between.URL))
	if fmt.Sprint(outcome.Output) != "[canceled true canceled]" {
		t.Errorf("got %v, %v", outcome.Output, outcome.Fault)
	}
}

// told notes that a part of an answer was sent.
type told struct {
	http.ResponseWriter
	begun func()
}

// Write implements http.ResponseWriter.
func (t *told) Write(text []byte) (int, error) {
	defer t.begun()
	return t.ResponseWriter.Write(text)
}

// Flush implements http.Flusher.
func (t *told) Flush() { t.ResponseWriter.(http.Flusher).Flush() }

// TestMessageIsTheSameForAllAttempts: by its id, an agent recognizes a repeated message. Another message has another id.
func TestMessageIsTheSameForAllAttempts(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a broken body shows in the comparison
		mu.Lock()
		defer mu.Unlock()
		_, id, _ := strings.Cut(string(body), `"messageId":"`)
		id, _, _ = strings.Cut(id, `"`)
		if got = append(got, r.Header.Get("Idempotency-Key")+" "+id); len(got) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","messageId":"m","role":"agent","parts":[]}}`)
	}))
	defer server.Close()
	retried := strings.ReplaceAll(fmt.Sprintf(askAgent, "message/send", server.URL, "Ada", "PT60S"), "  - ask", "        - ask")
	outcome := runDocument(t, tasks.Config{}, "  - often:\n      try:\n"+retried+"      catch: { retry: { delay: { milliseconds: 1 }, limit: { attempt: { count: 5 } } } }\n"+
		strings.ReplaceAll(fmt.Sprintf(askAgent, "message/send", server.URL, "Ada", "PT60S"), "ask", "other"))
	if outcome.Fault != nil || len(got) != 4 {
		t.Fatalf("the run is %s: %v after %q", outcome.Status, outcome.Fault, got)
	}
	if got[0] != got[1] || got[0] != got[2] || got[0] == got[3] || len(got[0]) < 60 {
		t.Errorf("got %q, want three that are the same, and another one", got)
	}
}

// TestHostileAgents: regardless of the agent, the call ends, and leaves no connection (reliability B39).
func TestHostileAgents(t *testing.T) {
	const events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	for name, c := range pacetest.ThinnedMap(map[string]struct {
		talk  func(*counterpart, net.Conn)
		early bool
	}{
		"accepts and never answers":                    {(*counterpart).listen, false},
		"has a body that drips":                        {drips("HTTP/1.1 200 OK\r\n\r\n"), false},
		"has an event that drips":                      {drips(events + "data: "), false},
		"has a stream that says nothing":               {answers(events), false},
		"has a body without end":                       {floods("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat(" ", 1<<16)), true},
		"has an event without end":                     {floods(events+"data: ", strings.Repeat("x", 1<<16)), true},
		"has an event of lines without end":            {floods(events+"data: ", strings.Repeat("\r\ndata: x", 1<<12)), true},
		"has comments without end":                     {floods(events, strings.Repeat(": x\n\n", 1<<12)), true},
		"has events without end":                       {floods(events, strings.Repeat(`data: {"jsonrpc":"2.0","result":{"kind":"message"}}`+"\n\n", 1<<10)), true},
		"has a small body that becomes a large one":    {answers(zipped(50 << 20)), true},
		"is unavailable":                               {answers("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), true},
		"stops in the middle of an event":              {answers("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 10\r\n\r\ndata: 1\n\n"), true},
		"sends away":                                   {answers("HTTP/1.1 307 Away\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"), true},
		"wants a credential of a place of its own":     {answers("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"http://169.254.169.254/\"\r\nContent-Length: 0\r\n\r\n"), true},
		"changes to a protocol that says nothing":      {answers("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), true},
		"answers with nothing":                         {answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), true},
		"answers with a number that is no JSON at all": {answers("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n0x0"), true},
	}, 4) { // all of them use the same client
		t.Run(name, func(t *testing.T) {
			wantEnd(t, c.talk, c.early, func(config tasks.Config, url, after string) execution.Outcome {
				return runDocument(t, config, fmt.Sprintf(askAgent, "message/stream", url, "hello", after))
			})
		})
	}
}

// TestNetworkOfAgents: forbidden addresses are not reached, regardless of their source.
func TestNetworkOfAgents(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the agent was reached") }))
	defer agent.Close()
	refused := tasks.NewTransport(tasks.TransportConfig{Control: func(_, address string, _ syscall.RawConn) error {
		return &tasks.NotAllowedError{Address: address, Detail: "not here"}
	}})
	card := fmt.Sprintf(`{"url": "%s/rpc"}`, agent.URL)
	for name, with := range map[string]string{"the server": "server: '" + agent.URL + "'", "a card": "agentCard: { endpoint: card.json }"} {
		t.Run(name, func(t *testing.T) {
			config := tasks.Config{Transport: refused, Load: func(ctx context.Context, uri string) (interpreter.Resource, error) {
				if uri == "card.json" {
					return interpreter.Resource{Data: []byte(card)}, nil
				}
				return tasks.Loader("t.yaml", tasks.Sources{Transport: refused})(ctx, uri)
			}}
			outcome := runDocument(t, config, "  - ask: { call: a2a, with: { method: tasks/list, "+with+" } }\n")
			if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Configuration) {
				t.Errorf("the run is %s: %v", outcome.Status, outcome.Fault)
			}
		})
	}
}
