package tasks_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

const listTools = "  - ask: { call: mcp, with: { method: tools/list, transport: { http: { endpoint: '%s' } } }, timeout: { after: %s } }\n"

// TestTimeoutCutsTool: a tool that never ends sees that the client no longer waits, and the session ends.
func TestTimeoutCutsTool(t *testing.T) {
	began, cut, ended := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		began <- struct{}{}
		<-ctx.Done()
		cut <- struct{}{}
		return nil, nil, ctx.Err()
	})
	speaks := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		speaks.ServeHTTP(w, r)
		if r.Method == http.MethodDelete {
			ended <- struct{}{}
		}
	}))
	defer http.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf("  - ask: { call: mcp, with: { method: tools/call, parameters: { name: slow, arguments: {} }, transport: { http: { endpoint: '%s' } }, timeout: PT2S } }\n", http.URL))
	wantTimeout(t, outcome, "/do/0/ask")
	<-began
	<-cut
	<-ended
}

// TestHostileSessions: regardless of the server, the call ends, and leaves no connection (reliability B39, B41).
func TestHostileSessions(t *testing.T) {
	asks := `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`
	for name, c := range pacetest.ThinnedMap(map[string]struct {
		talk  func(*counterpart, net.Conn)
		early bool
	}{
		"accepts and never answers":                 {(*counterpart).listen, false},
		"has a body that drips":                     {drips("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"), false},
		"has events that drip":                      {drips("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"), false},
		"has a body without end":                    {floods("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", strings.Repeat(" ", 1<<16)), true},
		"has an event without end":                  {floods("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ", strings.Repeat("x", 1<<16)), true},
		"has a small body that becomes a large one": {answers(zipped(50 << 20)), true},
		"has a header without end":                  {floods("HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n"), true},
		"has one header line without end":           {floods("HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("a", 1000)), true},
		"announces more than anybody takes":         {answers("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"), false},
		"has a result that is nested without end":   {answersEach("HTTP/1.1 200 OK\r\nContent-Type: application/json", `{"jsonrpc":"2.0","id":ID,"result":{"a":`+strings.Repeat("[", 8<<20)), true},
		"has a result that is nested deeply":        {answersEach("HTTP/1.1 200 OK\r\nContent-Type: application/json", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"},"a":`+strings.Repeat("[", 2<<20)+strings.Repeat("]", 2<<20)+"}}"), true},
		"has an event that is nested deeply":        {answersEach("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream", `data: {"jsonrpc":"2.0","id":ID,"result":{"a":`+strings.Repeat("[", 2<<20)+strings.Repeat("]", 2<<20)+"}}\n\n"), true},
		"has an event without a line end":           {floods("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: ", strings.Repeat("x", 1<<16)), true},
		"answers with nothing":                      {answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), true},
		"answers with no JSON":                      {answers("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello"), true},
		"speaks another version":                    {answersEach("HTTP/1.1 200 OK\r\nContent-Type: application/json", strings.Replace(asks, "2025-06-18", "1999-01-01", 1)), true},
		"wants a credential of a place of its own":  {answersEach("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"http://169.254.169.254/\"", ""), true},
	}, 4) { // all of them use the same client
		t.Run(name, func(t *testing.T) {
			wantEnd(t, c.talk, c.early, func(config tasks.Config, url, after string) execution.Outcome {
				return runDocument(t, config, fmt.Sprintf(listTools, url, after))
			})
		})
	}
}

// answersEach answers every request of a connection. ID in the body becomes the id of the request.
func answersEach(head, body string) func(*counterpart, net.Conn) {
	return func(_ *counterpart, conn net.Conn) {
		for reader := bufio.NewReader(conn); ; {
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			var asked struct{ ID json.RawMessage }
			_ = json.NewDecoder(request.Body).Decode(&asked) // a request without a body has no id
			text := strings.Replace(body, "ID", string(asked.ID), 1)
			if _, err := fmt.Fprintf(conn, "%s\r\nContent-Length: %d\r\n\r\n%s", head, len(text), text); err != nil {
				return
			}
		}
	}
}

// TestTimeoutKillsServer: a server that swrun started, and the processes that the server started, disappear from the process table.
func TestTimeoutKillsServer(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	config := tasks.Config{Processes: processtest.Pool(t), KillAfter: 50 * time.Millisecond}
	for after := 0.2; ; after *= 2 { // a machine may be busy
		wantTimeout(t, runDocument(t, config, fmt.Sprintf(`  - ask:
      call: mcp
      with:
        method: tools/list
        transport:
          stdio:
            command: sh
            arguments: [-c, "trap '' TERM; sh -c \"trap '' TERM; echo started > %[1]s; while :; do sleep 0.01; done\" %[1]s & wait"]
      timeout: { after: PT%[2]gS }
`, mark, after)), "/do/0/ask")
		if _, err := os.Stat(mark); err == nil {
			break
		}
		if after > 60 {
			t.Fatal("the server never started, so that nothing is shown")
		}
	}
	if left := processesWith(t, mark); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// TestServersThatFlood: endless output of a server that swrun started ends the server.
func TestServersThatFlood(t *testing.T) {
	config := tasks.Config{Processes: processtest.Pool(t)}
	for _, command := range []string{"yes", "yes >&2", "cat /dev/zero", `printf '{"jsonrpc":"2.0","id":ID,"result":null}\n'; sleep 1000`, "exec <&-; exec >&-; sleep 1000",
		`tr '\0' '[' </dev/zero`, `head -c 30000000 /dev/zero | tr '\0' '['; sleep 1000`, `printf '{"a":'; head -c 20000000 /dev/zero | sed 's/\x00/{"a":/g'; sleep 1000`} {
		outcome := runDocument(t, config, fmt.Sprintf("  - ask: { call: mcp, with: { method: tools/list, timeout: PT1S, transport: { stdio: { command: sh, arguments: [-c, %q] } } } }\n", command))
		if f := outcome.Fault; f == nil || f.Type != errors.Limit && !errors.Same(f.Type, errors.Communication) && !errors.Same(f.Type, errors.Timeout) {
			t.Errorf("%s: the run is %s: %v", command, outcome.Status, outcome.Fault)
		}
	}
}
