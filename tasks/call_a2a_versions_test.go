package tasks_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	current "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/swrun/swrun/internal/a2atest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

// mustServeCurrentAgent serves an agent of version 1.0.
func mustServeCurrentAgent(t *testing.T) (url string) {
	t.Helper()
	var agent http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { agent.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	agent = a2atest.NewCurrent(a2atest.CurrentCard(server.URL))
	return server.URL
}

func askAgents(t *testing.T, lines string) execution.Outcome {
	t.Helper()
	return runDocument(t, tasks.Config{Load: tasks.Loader("t.yaml", tasks.Sources{Transport: http.DefaultTransport})}, lines)
}

// TestAgentsOfTheCurrentVersion: the eleven methods have the same names and parameters for an agent of version 1.0.
func TestAgentsOfTheCurrentVersion(t *testing.T) {
	url := mustServeCurrentAgent(t)
	const ask = "  - %s: { call: a2a, with: { method: %s, agentCard: { endpoint: '%s' }, parameters: %s }, export: { as: '$context + {%[1]s: .}' }, timeout: { after: PT60S } }\n"
	hello := `{ message: { parts: [{ kind: text, text: %s }] }, configuration: { acceptedOutputModes: [text], blocking: true } }`
	id := `'${ {id: $context.wait.task.id} }'`
	document := fmt.Sprintf(ask, "hello", "message/send", url, fmt.Sprintf(hello, "Ada")) +
		fmt.Sprintf(ask, "current", "message/send", url, `{ message: { role: ROLE_USER, messageId: m, parts: [{ text: Bo }] } }`) +
		fmt.Sprintf(ask, "stream", "message/stream", url, fmt.Sprintf(hello, "count 2")) +
		fmt.Sprintf(ask, "wait", "message/send", url, fmt.Sprintf(hello, "wait")) +
		fmt.Sprintf(ask, "got", "tasks/get", url, id) +
		fmt.Sprintf(ask, "listed", "tasks/list", url, "{ status: input-required }") +
		fmt.Sprintf(ask, "set", "tasks/pushNotificationConfig/set", url, `{ taskId: '${ $context.wait.task.id }', pushNotificationConfig: { id: c, url: 'http://example.com', authentication: { schemes: [Bearer] } } }`) +
		fmt.Sprintf(ask, "push", "tasks/pushNotificationConfig/get", url, `{ id: '${ $context.wait.task.id }', pushNotificationConfigId: c }`) +
		fmt.Sprintf(ask, "pushes", "tasks/pushNotificationConfig/list", url, id) +
		fmt.Sprintf(ask, "deleted", "tasks/pushNotificationConfig/delete", url, `{ id: '${ $context.wait.task.id }', pushNotificationConfigId: c }`) +
		fmt.Sprintf(ask, "cancelled", "tasks/cancel", url, id) +
		fmt.Sprintf(ask, "card", "agent/getAuthenticatedExtendedCard", url, "'${ {} }'") +
		`  - all: { set: '${ $context | [.hello.message.parts[0].text, .hello.message.metadata.role, .current.message.parts[0].text, (.stream | length), .stream[-1].statusUpdate.status.state,
      .got.status.state, (.listed.tasks | length), .push.authentication.scheme, (.pushes.configs | length), .cancelled.status.state, .card.name] }' }` + "\n"
	outcome := askAgents(t, document)
	if outcome.Status != interpreter.StatusCompleted {
		t.Fatalf("the run is %s: %v", outcome.Status, outcome.Fault)
	}
	got, err := json.Marshal(outcome.Output)
	if err != nil {
		t.Fatal(err)
	}
	want := `["Hello, Ada","ROLE_USER","Hello, Bo",4,"TASK_STATE_COMPLETED","TASK_STATE_INPUT_REQUIRED",1,"Bearer",1,"TASK_STATE_CANCELED","greeter"]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWhereCardsAre: the card of a host is found at the paths of all versions of the protocol, and names the version.
func TestWhereCardsAre(t *testing.T) {
	newer, older := mustServeCurrentAgent(t), mustServe03(t)
	for name, c := range map[string]struct {
		place, url string
		version    string
	}{
		"a host of 1.0":            {"/.well-known/agent-card.json", newer, "1.0"},
		"a host of 0.3":            {"/.well-known/agent-card.json", older, "0.3"},
		"a host of an older place": {"/.well-known/agent.json", older, "0.3"},
		"a card at the root":       {"/", newer, "1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			var card any = a2atest.Card(c.url)
			if c.version == "1.0" {
				card = a2atest.CurrentCard(c.url)
			}
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != c.place {
					http.NotFound(w, r)
					return
				}
				if err := json.NewEncoder(w).Encode(card); err != nil {
					t.Error(err)
				}
			}))
			defer host.Close()
			outcome := askAgents(t, fmt.Sprintf("  - ask: { call: a2a, with: { method: message/send, agentCard: { endpoint: '%s' }, parameters: { message: { parts: [{ kind: text, text: Ada }] } } } }\n", host.URL))
			if got := fmt.Sprint(outcome.Output); outcome.Status != interpreter.StatusCompleted || !strings.Contains(got, "Hello, Ada") || strings.Contains(got, "ROLE_AGENT") != (c.version == "1.0") {
				t.Errorf("the run is %s: %v, %s", outcome.Status, outcome.Fault, got)
			}
		})
	}
}

func mustServe03(t *testing.T) (url string) {
	t.Helper()
	_, url = mustServeAgent(t)
	return url
}

// TestVersionsThatCannotBeSpoken: the error names them.
func TestVersionsThatCannotBeSpoken(t *testing.T) {
	for name, c := range map[string]struct {
		card any
		want string
	}{
		"a later version":                {&current.AgentCard{SupportedInterfaces: []*current.AgentInterface{{URL: "http://a.test", ProtocolBinding: "JSONRPC", ProtocolVersion: "2.0"}}}, "JSONRPC 2.0"},
		"another binding":                {&current.AgentCard{SupportedInterfaces: []*current.AgentInterface{{URL: "http://a.test", ProtocolBinding: "GRPC", ProtocolVersion: "1.0"}}}, "GRPC 1.0"},
		"a later version in an old card": {map[string]any{"url": "http://a.test", "protocolVersion": "3.1"}, "3.1"},
	} {
		host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(c.card) })) // the client may be gone
		outcome := askAgents(t, fmt.Sprintf("  - ask: { call: a2a, with: { method: tasks/get, agentCard: { endpoint: '%s' }, parameters: { id: t } } }\n", host.URL))
		host.Close()
		if f := outcome.Fault; f == nil || !strings.Contains(f.Detail, c.want) || !strings.Contains(f.Detail, "1.0 and 0.3") {
			t.Errorf("%s: the run is %s: %v", name, outcome.Status, outcome.Fault)
		}
	}
	url := mustServeCurrentAgent(t)
	outcome := askAgents(t, fmt.Sprintf("  - ask: { call: a2a, with: { method: message/send, server: '%s/rpc', parameters: { message: { parts: [{ kind: text, text: Ada }] } } } }\n", url))
	if f := outcome.Fault; f == nil || !strings.Contains(f.Detail, "asked in version 0.3 of A2A; name its card") {
		t.Errorf("without a card the run is %s: %v", outcome.Status, outcome.Fault)
	}
}
