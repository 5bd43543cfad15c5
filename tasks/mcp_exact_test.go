package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

// oldServer is a server of an older version that gives no answer to a request that it does not know.
const oldServer = `while read -r line; do
case $line in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}\n' "$(id "$line")";;
*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"total":12345678901234567890}}\n' "$(id "$line")";;
esac
done`

// TestServersThatIgnoreTheNewestVersion: a silent server is asked for an older version.
func TestServersThatIgnoreTheNewestVersion(t *testing.T) {
	config := tasks.Config{Processes: processtest.Pool(t), Silence: 100 * time.Millisecond}
	id := `id() { printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }` + "\n"
	outcome := runDocument(t, config, fmt.Sprintf("  - ask: { call: mcp, with: { method: tools/list, timeout: PT60S, transport: { stdio: { command: sh, arguments: [-c, %q] } } } }\n", id+oldServer))
	if outcome.Status != interpreter.StatusCompleted {
		t.Fatalf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	if got, want := fmt.Sprint(outcome.Output), "map[tools:[] total:12345678901234567890]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStrangeResults: an invalid result is an error, and ends no process.
func TestStrangeResults(t *testing.T) {
	for _, result := range []string{`null`, `[]`, `"text"`, `7`, `{`, ``, "{\"a\": \"caf\xe9\"}"} {
		outcome := resultOf(t, result)
		if f := outcome.Fault; f == nil || !errors.Same(f.Type, errors.Communication) {
			t.Errorf("%q: the run is %s: %v", result, outcome.Status, outcome.Fault)
		}
	}
}

// resultOf runs a document that calls a server of the newest version, which answers with a result.
func resultOf(t *testing.T, result string) execution.Outcome {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		answer := result
		if asked.Method == "server/discover" {
			answer = `{"supportedVersions": ["2026-07-28"], "capabilities": {}}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": %s}`, asked.ID, answer)
	}))
	defer server.Close()
	return runDocument(t, tasks.Config{}, fmt.Sprintf(listTools, server.URL, "PT60S"))
}

// TestTypesOfResults: only a complete result is an output. The error names any other type.
func TestTypesOfResults(t *testing.T) {
	for result, detail := range map[string]string{
		`{"resultType": "complete", "tools": []}`: "",
		`{"resultType": null, "tools": []}`:       "",
		`{"resultType": 7, "tools": []}`:          "",
		`{"resultType": "input_required", "inputRequests": {"b": {"method": "elicitation/create"}, "a": {"method": "roots/list"}}}`: "a (roots/list), b (elicitation/create)",
		`{"resultType": "input_required", "requestState": "x"}`:                                                                     "another request",
		`{"resultType": "input_required", "inputRequests": {"a": null}}`:                                                            "a ()",
		`{"resultType": "` + strings.Repeat("long", 1000) + `", "tools": []}`:                                                       "which is not known",
		`{"resultType": "", "tools": []}`:                                                                                           "which is not known",
	} {
		outcome := resultOf(t, result)
		switch f := outcome.Fault; {
		case detail == "" && f != nil, detail != "" && (f == nil || !errors.Same(f.Type, errors.Communication) || !strings.Contains(f.Detail, detail) || len(f.Detail) > 2000):
			t.Errorf("%.80s: the run is %s: %v", result, outcome.Status, f)
		}
	}
}

// TestTimeoutCutsToolWithoutSession: a server of the newest version sees that the client no longer waits, too.
func TestTimeoutCutsToolWithoutSession(t *testing.T) {
	began, cut := make(chan struct{}, 1), make(chan struct{}, 1)
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		began <- struct{}{}
		<-ctx.Done()
		cut <- struct{}{}
		return nil, nil, ctx.Err()
	})
	http := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true}))
	defer http.Close()
	outcome := runDocument(t, tasks.Config{}, fmt.Sprintf("  - ask: { call: mcp, with: { method: tools/call, parameters: { name: slow, arguments: {} }, transport: { http: { endpoint: '%s' } }, timeout: PT5S } }\n", http.URL))
	wantTimeout(t, outcome, "/do/0/ask")
	<-began
	<-cut
}
