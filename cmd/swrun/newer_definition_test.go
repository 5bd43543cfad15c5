package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestNewerDefinitions: a server starts a workflow that a newer swrun has deployed, since a worker of that version can perform it. Until then the run
// waits, and no damage is reported.
func TestNewerDefinitions(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	writeForms := func(from, to string) {
		for _, key := range client.Keys(t.Context(), "*:definitions").Val() {
			for field, text := range client.HGetAll(t.Context(), key).Val() {
				if strings.HasPrefix(field, "digest/") {
					client.HSet(t.Context(), key, field, strings.Replace(text, `"#":`+from, `"#":`+to, 1))
				}
			}
		}
	}
	writeForms("2", "99")
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	answer, text := h.asks(s, http.MethodPost, "/v1/runs", `{"workflow": "demo/nap", "id": "one"}`)
	if answer.StatusCode != http.StatusCreated || !strings.Contains(text, "the form 99 of a newer swrun") {
		t.Errorf("a start by the API is answered with %s: %s", answer.Status, text)
	}
	if code, out := h.says("start demo/nap --id two"); code != exitOK {
		t.Errorf("start ends with %d: %s", code, out)
	}
	h.until(`["one","two"]`, "ls", "-o", "json", "--jq", "map(.id) | sort")
	for _, path := range []string{"/v1/runs/demo/one", "/v1/workflows/demo/nap"} {
		answer, text := h.asks(s, http.MethodGet, path, "")
		if answer.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "the form 99 of a newer swrun") || strings.Contains(text, "damaged") {
			t.Errorf("GET %s is answered with %s: %s", path, answer.Status, text)
		}
	}
	writeForms("99", "2") // as if a worker of the newer version had started
	h.until("waiting for the timer", "describe", "one")
	h.until("waiting for the timer", "describe", "two")
}
