package main

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedDefinitions: commands, doctor and health report a definition that is damaged or missing with its workflow, in a short text. Deploying
// the same document again restores it.
func TestDamagedDefinitions(t *testing.T) {
	for name, c := range map[string]struct {
		part string
		data []byte
	}{"missing": {"definition/digest/", nil}, "rubbish": {"definition/digest/", []byte("rubbish")}, "huge name": {"definition/workflow/", bytes.Repeat([]byte("x"), 10<<20)}, "other name": {"definition/workflow/", bytes.Repeat([]byte("A"), 22)}} {
		t.Run("file/"+name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			h := &hosted{t, "file:" + path}
			h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
			h.exits(exitOK, "start", "demo/nap", "--id", "one")
			overwriteEntry(t, path, c.part, c.data)
			h.tellsDamagedDefinition(strings.HasSuffix(name, " name"))
		})
		t.Run("redis/"+name, func(t *testing.T) {
			t.Parallel()
			h, client := deployedOnRedis(t)
			h.exits(exitOK, "start", "demo/nap", "--id", "one")
			for _, key := range client.Keys(t.Context(), "*:definitions").Val() {
				for field := range client.HGetAll(t.Context(), key).Val() {
					if !strings.HasPrefix(field, strings.TrimPrefix(c.part, "definition/")) {
						continue
					}
					if client.HDel(t.Context(), key, field); c.data != nil {
						client.HSet(t.Context(), key, field, c.data)
					}
				}
			}
			h.tellsDamagedDefinition(strings.HasSuffix(name, " name"))
		})
	}
}

// tellsDamagedDefinition looks for the damaged definition of demo/nap:0.1.0, or for its damaged name.
func (h *hosted) tellsDamagedDefinition(onlyName bool) {
	h.Helper()
	const told = "the workflow demo/nap:0.1.0: the definition "
	asked := []string{"start demo/nap --id two", "doctor", "describe one", "export one"}
	if onlyName {
		asked = asked[:2] // the run contains the digest
	}
	for _, args := range asked {
		if code, out := h.says(args); code != exitStore || !strings.Contains(out, told) || len(out) > 4000 {
			h.Errorf("%s ends with %d and %d bytes: %.2000s", args, code, len(out), out)
		}
	}
	for _, args := range []string{"workflows -o json", "workflows demo/nap"} {
		if code, out := h.says(args); code != exitOK || len(out) > 2000 {
			h.Errorf("%s ends with %d and %d bytes: %.2000s", args, code, len(out), out)
		}
	}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.answers(s, "/v1/health", http.StatusServiceUnavailable, told)
	if onlyName {
		h.exits(exitOK, "deploy", mustWriteFile(h.T, "nap.yaml", napText))
		_, out := h.says("doctor")
		contains(h.T, out, "all examined data can be read")
		return
	}
	h.answers(s, "/v1/runs/demo/one", http.StatusInternalServerError, "the workflow demo/nap:0.1.0")
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "nap.yaml", napText))
	h.until("waiting for the timer", "describe", "one")
	_, out := h.says("doctor")
	contains(h.T, out, "all examined data can be read")
}
