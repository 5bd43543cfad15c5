package main

import (
	"net/http"
	"path/filepath"
	"testing"
)

// damagedActivities are the replacements of the record of an activity in a test; nil for nothing.
func damagedActivities() map[string][]byte {
	return map[string][]byte{
		"deleted": nil, "rubbish": []byte("rubbish"), "rubbish behind the queue": []byte("2 1795801746834 0 images rubbish"),
		"no deadline": []byte("2 1795801746834 z images {}"), "no attempt": []byte("2 1795801746834 0 images {}"), "another type": []byte(`2 1795801746834 0 images {"n": "x"}`),
	}
}

// TestDamagedActivities: describe, doctor and health report an activity whose record is damaged or missing, with the remedy, and it is scheduled again.
func TestDamagedActivities(t *testing.T) {
	for name, data := range damagedActivities() {
		t.Run("file/"+name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			h := &hosted{t, "file:" + path}
			h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
			h.outside("x")
			overwriteEntry(t, path, "i/demo/x/activity/", data)
			h.tellsLostActivity()
			s := h.listening("serve", "--listen", "127.0.0.1:0")
			h.endsOutside(s)
		})
		t.Run("redis/"+name, func(t *testing.T) {
			t.Parallel()
			h, client := deployedOnRedis(t)
			h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
			h.outside("x")
			for _, key := range client.Keys(t.Context(), "*:i:demo/x").Val() {
				if client.HDel(t.Context(), key, "a1").Val() != 1 {
					t.Fatalf("%s has no activity", key)
				}
				if data != nil {
					client.HSet(t.Context(), key, "a1", data)
				}
			}
			h.tellsLostActivity()
			s := h.listening("serve", "--listen", "127.0.0.1:0")
			h.answers(s, "/v1/health", http.StatusOK, "demo/x: 1 of the 1 activities that it waits for were lost")
			h.endsOutside(s)
		})
	}
}

// outside starts runs of the workflow demo/outside, and returns when their activities wait.
func (h *hosted) outside(ids ...string) {
	h.Helper()
	stop := working(h.T, capture(map[string]string{"SWRUN_STORE": h.url}))
	for _, id := range ids {
		h.exits(exitOK, "start", "demo/outside", "--id", id)
		h.until("waits for an outside worker", "describe", id)
	}
	stop()
}

// tellsLostActivity looks for a lost activity of the run x.
func (h *hosted) tellsLostActivity() {
	h.Helper()
	contains(h.T, h.exits(exitOK, "describe", "x"), "the stored activity of /do/0/work (", "is damaged or missing: swrun repair schedules it again")
	_, out := h.says("doctor")
	contains(h.T, out, "warning  SD019  stored activities of 1 run are damaged or missing, for example demo/x: 1 of the 1", "fix: swrun repair schedules them again")
}

// endsOutside performs the activity of the run x.
func (h *hosted) endsOutside(s *serving) {
	h.Helper()
	var is takenActivity
	for polls := 0; is.Token == "" && polls < 10; polls++ { // the first polls may find the damaged activity
		is = h.polled(s)
	}
	if is.Attempt != 1 || is.IdempotencyKey == "" {
		h.Fatalf("taken is %+v", is)
	}
	h.posts(s, "complete", `{"token": "`+is.Token+`", "result": 2}`, http.StatusNoContent)
	contains(h.T, h.exits(exitOK, "output", "x", "--wait"), "2")
	_, out := h.says("doctor")
	contains(h.T, out, "all examined data can be read")
}

// TestActivityOfANewerSwrun: describe reports that an activity cannot be read here if a newer swrun has written it.
func TestActivityOfANewerSwrun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
	h.outside("x")
	overwriteEntry(t, path, "i/demo/x/activity/", []byte("99 x"))
	contains(t, h.exits(exitOK, "describe", "x"), "the stored activity of /do/0/work (", "cannot be read here: ", "has the form 99 of a newer swrun")
}
