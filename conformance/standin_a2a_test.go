package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/swrun/swrun/internal/a2atest"
)

// speakingA2A answers as agents do: an agent of the protocol's library, and an agent that repeats its request, at every path of its hosts.
func speakingA2A(mux *http.ServeMux) {
	mux.Handle("a2a.test/", &steadyAgent{Agent: a2atest.New(a2atest.Card("http://a2a.test")), told: map[string]string{}})
	for _, host := range []string{"echo.a2a.test", "other.a2a.test"} {
		mux.HandleFunc(host+"/", toldA2A(host))
	}
	for name, change := range cardsA2A() {
		card := a2atest.Card("http://echo.a2a.test")
		change(card)
		mux.HandleFunc("cards.a2a.test/"+name, answer(card))
	}
	mux.HandleFunc("cards.a2a.test/private", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		card := a2atest.Card("http://cards.a2a.test")
		card.Security = []a2a.SecurityRequirements{{"token": nil}}
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"token": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		answer(card)(w, r)
	})
	mux.HandleFunc("cards.a2a.test"+a2atest.RPC, toldA2A("cards.a2a.test"))
	mux.HandleFunc("moved.a2a.test/.well-known/agent-card.json", answer(a2atest.Card("http://other.a2a.test")))
	mux.HandleFunc("moved.a2a.test/{$}", toldA2A("moved.a2a.test"))
	mux.HandleFunc("page.a2a.test/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
}

// steadyAgent is an agent whose ids, which the library chooses randomly, and whose times are the same in each run of a case.
type steadyAgent struct {
	*a2atest.Agent

	mu   sync.Mutex
	told map[string]string // replacement ids, by the original ids
}

var (
	chosenID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	chosenTime = regexp.MustCompile(`"timestamp":"[^"]*"`)
)

// ServeHTTP implements http.Handler.
func (a *steadyAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the answer shows a broken body
	a.mu.Lock()
	text := string(body)
	for meant, told := range a.told {
		text = strings.ReplaceAll(text, told, meant)
	}
	a.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(text))
	answer := httptest.NewRecorder()
	a.Agent.ServeHTTP(answer, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	text = chosenID.ReplaceAllStringFunc(answer.Body.String(), func(meant string) string {
		if a.told[meant] == "" {
			a.told[meant] = fmt.Sprintf("00000000-0000-7000-8000-%012d", len(a.told))
		}
		return a.told[meant]
	})
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = io.WriteString(w, chosenTime.ReplaceAllString(text, `"timestamp":"2026-01-31T09:30:00Z"`))
}

// cardsA2A returns cards that differ from the card of the agent that repeats its request.
func cardsA2A() map[string]func(*a2a.AgentCard) {
	key := a2a.APIKeySecurityScheme{In: a2a.APIKeySecuritySchemeInHeader, Name: "X-Key"}
	wants := func(security ...a2a.SecurityRequirements) func(*a2a.AgentCard) {
		return func(c *a2a.AgentCard) {
			c.Security = security
			c.SecuritySchemes = a2a.NamedSecuritySchemes{"token": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}, "user": a2a.HTTPAuthSecurityScheme{Scheme: "basic"}, "key": key, "flow": a2a.OAuth2SecurityScheme{}}
		}
	}
	return map[string]func(*a2a.AgentCard){
		"open":     func(*a2a.AgentCard) {},
		"bearer":   wants(a2a.SecurityRequirements{"token": nil}),
		"either":   wants(a2a.SecurityRequirements{"key": nil, "token": nil}, a2a.SecurityRequirements{"user": nil}, a2a.SecurityRequirements{"flow": {"read"}}),
		"key":      wants(a2a.SecurityRequirements{"key": nil}),
		"unknown":  wants(a2a.SecurityRequirements{"none": nil}),
		"optional": wants(a2a.SecurityRequirements{"key": nil}, a2a.SecurityRequirements{}),
		"additional": func(c *a2a.AgentCard) {
			c.AdditionalInterfaces = []a2a.AgentInterface{{Transport: a2a.TransportProtocolJSONRPC, URL: c.URL}}
			c.PreferredTransport, c.URL = a2a.TransportProtocolGRPC, "http://grpc.test"
		},
		"grpc": func(c *a2a.AgentCard) {
			c.PreferredTransport = a2a.TransportProtocolGRPC
			c.AdditionalInterfaces = []a2a.AgentInterface{{Transport: a2a.TransportProtocolHTTPJSON, URL: c.URL}}
		},
		"nowhere": func(c *a2a.AgentCard) { c.URL = "" },
		"file":    func(c *a2a.AgentCard) { c.URL = "file:///etc/passwd" },
	}
}

// toldA2A answers each message with a message that contains the request. The last part of the path may select another answer.
func toldA2A(host string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			ID     string         `json:"id"`
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
		}
		body := json.NewDecoder(r.Body)
		body.UseNumber()
		if r.Method != http.MethodPost || body.Decode(&asked) != nil {
			http.NotFound(w, r)
			return
		}
		told := map[string]any{
			"host": host, "path": r.URL.Path, "method": asked.Method, "params": asked.Params, "authorization": r.Header.Get("Authorization"),
			"keyed": r.Header.Get("Idempotency-Key") != "" && r.Header.Get("Idempotency-Key") == asked.ID,
		}
		data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "result": map[string]any{
			"kind": "message", "messageId": "m", "role": "agent", "parts": []any{map[string]any{"kind": "data", "data": told}}, "beyond": json.Number("9007199254740993"),
		}}) // valid, since it was read as JSON
		message := string(data)
		w.Header().Set("Content-Type", "application/json")
		path := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if events := eventsA2A(path, message); events != "" {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			message = events
		} else if other, ok := strangeA2A()[path]; ok {
			message = other
		}
		_, _ = io.WriteString(w, message)
	}
}

// eventsA2A returns the stream of a path, if it has one, with a message in it.
func eventsA2A(path, message string) string {
	switch path {
	case "events": // without a space, in two lines, with a comment, and long
		return ": hello\r\n\r\ndata:" + strings.Replace(message, `"kind":"message"`, `"metadata":{"long":"`+strings.Repeat("x", 100_000)+`"},"kind":"message"`, 1) +
			"\r\n\r\nevent: message\nid: 1\ndata: " + strings.Replace(message, ",", ",\ndata: ", 1) + "\n\n"
	case "events-break":
		return "data: " + message + "\n\ndata: {\"jsonrpc\": \"2.0\", \"id\": \"1\", \"error\": {\"code\": -32603, \"message\": \"no more\"}}\n\n"
	case "events-none":
		return ": hello\n\n"
	case "events-last":
		last := `{"jsonrpc": "2.0", "id": "1", "result": {"kind": "status-update", "taskId": "t", "contextId": "c", "final": true, "status": {"state": "completed"}}}`
		return "data: " + last + "\n\ndata: " + message + "\n\n"
	}
	return ""
}

// strangeA2A returns answers that are not messages, by paths.
func strangeA2A() map[string]string {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	return map[string]string{
		"nothing": `{"jsonrpc": "2.0", "id": "1"}`,
		"null":    `{"jsonrpc": "2.0", "id": "1", "result": null}`,
		"version": `{"id": "1", "result": {}}`,
		"nobody":  `{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "not understood"}}`,
		"odd":     `{"jsonrpc": "2.0", "id": 7, "error": {"code": 4711, "message": "odd", "data": [1]}}`,
		"kind":    `{"jsonrpc": "2.0", "id": "1", "result": {"kind": "x"}}`,
		"update":  `{"jsonrpc": "2.0", "id": "1", "result": {"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": "working"}}}`,
		"number":  `{"jsonrpc": "2.0", "id": "1", "result": 5}`,
		"deep":    `{"jsonrpc": "2.0", "id": "1", "result": {"kind": "message", "messageId": "m", "role": "agent", "parts": [], "metadata": {"d": ` + deep + `}}}`,
		"text":    "hello", "empty": "",
	}
}
