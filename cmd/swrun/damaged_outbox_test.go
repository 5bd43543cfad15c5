package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

const parentText = `document: {dsl: 1.0.3, namespace: demo, name: parent, version: 0.1.0}
do:
- nap: {run: {workflow: {namespace: demo, name: nap, version: 0.1.0}}}
`

// TestDamagedOutbox: a damaged message that has left a run is reported once by the log, and by doctor and health until repair removes it. Others are
// delivered.
func TestDamagedOutbox(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "runs.db")
		h := &hosted{t, "file:" + path}
		h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
		inEachPartition(t, path, "outbox/00000000000000001", "rubbish")
		inEachPartition(t, path, "outbox/00000000000000002", `{"#":99}`)
		inEachPartition(t, path, "outbox/stray", "rubbish")
		h.tellsDamagedOutbox()
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		h, client := deployedOnRedis(t)
		h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
		for n := range 4 {
			key := strings.Replace(layoutKey, "}:layout", fmt.Sprintf(":%d}:outbox", n), 1)
			for _, value := range []string{"rubbish", `{"#":99}`} {
				if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: key, Values: []string{"d", value}}).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		h.tellsDamagedOutbox()
	})
}

// tellsDamagedOutbox looks for 4 damaged messages and 4 of a newer swrun.
func (h *hosted) tellsDamagedOutbox() {
	h.Helper()
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "parent.yaml", parentText))
	log := capture(map[string]string{"SWRUN_STORE": h.url})
	stop := working(h.T, log)
	for n := range 20 { // their messages leave by all outboxes
		h.exits(exitOK, "start", "demo/parent", "--id", fmt.Sprint("p", n))
		h.until(fmt.Sprint(2*n+2), "ls", "--count")
	}
	stop()
	if n := strings.Count(log.stderr.String(), "a message cannot be read, and is not delivered"); n != 8 || strings.Contains(log.stderr.String(), "to=?") {
		h.Errorf("the log tells of %d messages, and not of 8:\n%s", n, log.stderr.String())
	}
	code, out := h.says("doctor")
	contains(h.T, out, "error    SD019  8 messages of runs cannot be read or delivered, for example: ", "fix: swrun repair removes damaged messages")
	if code != exitStore {
		h.Errorf("doctor ends with %d", code)
	}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.answers(s, "/v1/health", http.StatusServiceUnavailable, "messages of runs cannot be read")
	h.answers(s, "/metrics", http.StatusOK, "\nswrun_outbox_messages_undeliverable 8\n")
	_, out = h.says("repair --dry-run")
	contains(h.T, out, "4 differences to repair")
	_, out = h.says("repair")
	contains(h.T, out, "of the outbox of partition 0 is damaged, and was not delivered", "4 differences repaired")
	_, out = h.says("doctor")
	contains(h.T, out, "4 messages of runs cannot be read or delivered", "of a newer swrun")
}

// TestOutboxEntriesThatLackMembers: a message of a known form that does not contain its purpose is reported, and not dropped silently.
func TestOutboxEntriesThatLackMembers(t *testing.T) {
	t.Parallel()
	entries := []string{
		`{"#":3}`, `{"#":3,"from":"demo"}`, `{"#":3,"child":{}}`, `{"#":3,"child":{"id":"x","workflow":{"name":"nap"}}}`, `{"#":3,"deliver":{"message":{"type":"cancel"}}}`,
		`{"#":3,"deliver":{"to":{"Namespace":"demo","ID":"x"}}}`, `{"#":3,"find":{}}`, `{"#":3,"publish":null}`, `{"#":3,"publish":7}`,
	}
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	for n, entry := range entries {
		inEachPartition(t, path, fmt.Sprintf("outbox/%017d", n+1), entry)
	}
	stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}))
	h.until("waiting for the timer", "describe", "one")
	stop()
	code, out := h.says("doctor")
	contains(t, out, fmt.Sprintf("SD019  %d messages of runs cannot be read or delivered", 4*len(entries)))
	if code != exitStore {
		t.Errorf("doctor ends with %d", code)
	}
	_, out = h.says("repair")
	contains(t, out, fmt.Sprintf("%d differences repaired", 4*len(entries)))
}
