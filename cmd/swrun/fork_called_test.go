package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const twoCallsText = `document: {dsl: 1.0.3, namespace: demo, name: calls, version: 0.1.0}
do:
- first: {call: http, with: {method: get, endpoint: %URL%/first}}
- second: {call: http, with: {method: post, endpoint: %URL%/second}}
`

// TestForkShowsItsRequests: a fork shows each request that it repeats as it is sent, whether the call succeeded or failed before.
func TestForkShowsItsRequests(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/second" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer service.Close()
	store := "file:" + t.TempDir() + "/runs.db"
	document := mustWriteFile(t, "calls.yaml", strings.ReplaceAll(twoCallsText, "%URL%", service.URL))
	for _, step := range []struct {
		want int
		args []string
	}{{exitFaulted, []string{"run", document, "--id", "a"}}, {exitOK, []string{"fork", "a", "--from", "/do/0/first", "--dry-run"}}} {
		c := capture(map[string]string{"SWRUN_STORE": store})
		c.now = time.Now
		if code := run(step.args, c.streams); code != step.want {
			t.Fatalf("%v ended with %d: %s", step.args, code, c.stderr.String())
		}
		if step.want == exitOK {
			contains(t, c.stdout.String(), "(GET "+service.URL+"/first), which succeeded before", "(POST "+service.URL+"/second), which failed before")
		}
	}
}
