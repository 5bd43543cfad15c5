package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/server"
)

// TestRevokedFollowers: a stream ends with its next piece when its server knows that the token was revoked.
func TestRevokedFollowers(t *testing.T) {
	g := mustGuard(t, func(c *server.Config) { c.Heartbeat = time.Millisecond })
	ada := g.token(t, "ada", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	if w := g.send("PUT", "/v1/workflows/demo/nap/1.0.0", `{"document":{"dsl":"1.0.3","namespace":"demo","name":"nap","version":"1.0.0"},"do":[{"nap":{"wait":{"hours":1}}}]}`, "Authorization", ada); w.Code != 201 {
		t.Fatalf("deployed with %d %s", w.Code, w.Body)
	}
	run := g.send("POST", "/v1/runs", `{"workflow":"demo/nap"}`, "Authorization", ada).Header().Get("Location")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	beats := &beatingWriter{ResponseRecorder: httptest.NewRecorder(), beats: make(chan bool)}
	r := httptest.NewRequestWithContext(ctx, "GET", run+"/events", nil)
	r.Header.Set("Authorization", ada)
	go func() {
		defer close(beats.beats)
		g.ServeHTTP(beats, r)
	}()
	<-beats.beats // the stream is open
	if err := g.tokens.Revoke(t.Context(), "ada"); err != nil {
		t.Error(err)
	}
	late := 0
	for range beats.beats { // no time passes, so that only a heartbeat ends the stream
		if late++; late == 100 {
			leave()
			t.Error("the stream of a revoked token goes on")
		}
	}
}

// TestNarrowedCaller: a caller that loses its role or its namespace while its request waits gets the answer of a new request.
func TestNarrowedCaller(t *testing.T) {
	ada := server.Caller{Name: "ada", Role: access.RoleOperator, Namespaces: []string{"demo"}}
	nobody, elsewhere := ada, ada
	nobody.Role, elsewhere.Namespaces = "", []string{"other"}
	for want, later := range map[string]server.Caller{"there is no namespace demo": elsewhere, "this needs a token": nobody} {
		callers := []server.Caller{ada, ada, ada, later}
		g := mustGuard(t, func(c *server.Config) {
			c.Authorize = func(*http.Request) (server.Caller, error) {
				caller := callers[0]
				callers = callers[1:]
				return caller, nil
			}
		})
		g.send("PUT", "/v1/workflows/demo/nap/1.0.0", `{"document":{"dsl":"1.0.3","namespace":"demo","name":"nap","version":"1.0.0"},"do":[{"nap":{"wait":{"hours":1}}}]}`)
		run := g.send("POST", "/v1/runs", `{"workflow":"demo/nap"}`).Header().Get("Location")
		if w := g.send("GET", run+"/output?wait=1ms", ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("the request ends with %d %s; want %q", w.Code, w.Body, want)
		}
	}
}

// TestQuietStreamsAskOften: a stream without events detects a revoked token as soon as a server that cached the token does.
func TestQuietStreamsAskOften(t *testing.T) {
	if server.DefaultHeartbeat > access.KnownFor {
		t.Errorf("a quiet stream asks every %v", server.DefaultHeartbeat)
	}
}

// beatingWriter reports each piece of an answer.
type beatingWriter struct {
	*httptest.ResponseRecorder
	beats chan bool
}

func (w *beatingWriter) Write(p []byte) (int, error) {
	w.beats <- true
	return w.ResponseRecorder.Write(p)
}
