package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

const outsideText = `document: {dsl: 1.0.3, namespace: demo, name: outside, version: 0.1.0}
do:
- work: {call: 'activity:1.0.0@default', with: {type: resize, queue: images, input: {n: 7}, timeouts: {startToClose: PT1M}}}
`

// TestActivityOfWhichNothingIsLeft (I4): if the record and all entries of an activity are gone from Redis, repair finds the activity, reports it
// before it changes anything, and schedules it again with the same key. Its run ends.
func TestActivityOfWhichNothingIsLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h := &hosted{t, server.URL()}
	s := h.serve()
	h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
	h.exits(exitOK, "start", "demo/outside", "--id", "x")
	h.until("images", "queue", "ls")
	first := h.taken(s)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is already stopped
	lost := 0
	for keys := client.Scan(t.Context(), 0, "*", 1000).Iterator(); keys.Next(t.Context()); {
		switch key := keys.Val(); {
		case strings.HasSuffix(key, ":i:demo/x"):
			n, _ := client.HDel(t.Context(), key, "a1").Result()
			lost += int(n)
		case strings.HasSuffix(key, ":activities"), strings.HasSuffix(key, ":q:images demo"):
			client.Del(t.Context(), key)
		}
	}
	if lost != 1 {
		t.Fatalf("%d records were lost", lost)
	}
	const found = "demo/x: 1 of the 1 activities that it waits for were lost"
	h.until(found, "repair", "--dry-run") // as soon as no owner knows it
	contains(t, h.exits(exitOK, "repair", "--dry-run"), "1 difference to repair")
	contains(t, h.exits(exitOK, "repair"), found, "1 difference repaired")
	again := h.taken(s)
	if again.IdempotencyKey != first.IdempotencyKey || again.Token == first.Token || again.Attempt != 1 {
		t.Errorf("it is taken again as %+v, after %+v", again, first)
	}
	h.posts(s, "complete", `{"token": "`+first.Token+`", "result": 1}`, http.StatusConflict)
	h.posts(s, "complete", `{"token": "`+again.Token+`", "result": 2}`, http.StatusNoContent)
	contains(t, h.exits(exitOK, "output", "x", "--wait"), "2") // the report is stored before the run reads it
	contains(t, h.exits(exitOK, "repair", "--dry-run"), "0 differences")
}

// takenActivity is an activity in the answer of a poll.
type takenActivity struct {
	Token          string `json:"token"`
	IdempotencyKey string `json:"idempotencyKey"`
	Attempt        int    `json:"attempt"`
}

// taken polls for an activity, which must be available.
func (h *hosted) taken(s *serving) takenActivity {
	h.Helper()
	is := h.polled(s)
	if is.Token == "" {
		h.Fatal("no activity is there")
	}
	return is
}

// polled polls for an activity, and returns an empty one if no activity is available.
func (h *hosted) polled(s *serving) (is takenActivity) {
	h.Helper()
	var polled struct{ Activities []takenActivity }
	text := h.posts(s, "poll", `{"queues": ["images"], "limit": 1, "wait": "20s", "worker": "w"}`, http.StatusOK)
	if err := json.Unmarshal(text, &polled); err != nil {
		h.Fatal(err)
	}
	for _, is = range polled.Activities {
	}
	return is
}

// posts sends a request of an outside worker, and returns the answer.
func (h *hosted) posts(s *serving, what, body string, want int) []byte {
	h.Helper()
	r, err := http.Post(s.url+"/v1/activities/"+what, "application/json", strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	defer r.Body.Close() // it was read
	text, err := io.ReadAll(r.Body)
	if r.StatusCode != want || err != nil {
		h.Errorf("%s is answered with %s (%v), want %d", what, r.Status, err, want)
	}
	return text
}
