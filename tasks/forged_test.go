package tasks_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/tasks"
)

// TestForgedRequests: data that would end a line of a request and begin another one is refused before a connection is made (reliability B38).
func TestForgedRequests(t *testing.T) {
	for name, c := range map[string]struct{ with, want string }{
		"a line in a header":              {`method: get, endpoint: URL, headers: {X-A: '${ "a\r\nX-Forged: 1" }'}`, errors.Expression},
		"a line in the headers":           {`method: get, endpoint: URL, headers: '${ {"X-A": "a\nX-Forged: 1"} }'`, errors.Expression},
		"a line in the name of a header":  {`method: get, endpoint: URL, headers: '${ {"X-A: 1\r\nX-Forged": "1"} }'`, errors.Expression},
		"no name of a header":             {`method: get, endpoint: URL, headers: '${ {"": "1"} }'`, errors.Expression},
		"a NUL in a header":               {`method: get, endpoint: URL, headers: '${ {"X-A": "\u0000"} }'`, errors.Expression},
		"a line in the method":            {`method: '${ "GET / HTTP/1.1\r\nX-Forged: 1\r\n\r\nGET" }', endpoint: URL`, errors.Expression},
		"a line in the endpoint":          {`method: get, endpoint: '${ "URL/\r\nX-Forged: 1" }'`, errors.Expression},
		"a line in the host":              {`method: get, endpoint: '${ "http://127.0.0.1\r\nX-Forged: 1/" }'`, errors.Expression},
		"another scheme":                  {`method: get, endpoint: '${ "file:///etc/passwd" }'`, errors.Expression},
		"another scheme in other letters": {`method: get, endpoint: '${ "GOPHER://127.0.0.1/" }'`, errors.Expression},
		"no scheme":                       {`method: get, endpoint: '${ "//127.0.0.1/" }'`, errors.Expression},
		"a cookie with a line":            {`method: get, endpoint: URL, headers: '${ {"Cookie": "a=b\r\nX-Forged: 1"} }'`, errors.Expression},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
			defer server.Close()
			outcome := runDocument(t, tasks.Config{}, "  - a: {call: http, with: {"+strings.ReplaceAll(c.with, "URL", server.URL)+"}}\n")
			if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, c.want) {
				t.Errorf("got %v, want %s", outcome.Fault, c.want)
			}
		})
	}
}

// TestTextThatLooksLikeAnExpression: data from outside is never evaluated, even if it looks like an expression (reliability B31).
func TestTextThatLooksLikeAnExpression(t *testing.T) {
	const text = `${ $secrets.token }`
	var received *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received = r
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"got": "` + text + `"}`)) // a broken connection shows in the run
	}))
	defer server.Close()
	config := tasks.Config{Secrets: func(name string) (any, bool) { return "s3cret", name == "token" }}
	outcome := runDocument(t, config, strings.ReplaceAll(`
  - first: {call: http, with: {method: get, endpoint: URL}}
  - second: {call: http, with: {method: get, endpoint: URL, query: {q: '${ .got }'}, headers: {X-Got: '${ .got }'}}}
  - third: {set: {again: '${ .got }'}}
use: {secrets: [token]}
`[1:], "URL", server.URL))
	if outcome.Fault != nil || outcome.Output.(map[string]any)["again"] != text {
		t.Errorf("got %v, %v", outcome.Output, outcome.Fault)
	}
	if received.URL.Query().Get("q") != text || received.Header.Get("X-Got") != text {
		t.Errorf("sent %s %v", received.URL, received.Header)
	}
}
