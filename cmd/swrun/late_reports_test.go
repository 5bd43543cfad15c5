package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestLateReportsInHistory: `swrun history` shows each late report about an ended run once, with its task (promises 213, 235).
func TestLateReportsInHistory(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"Redis": redistest.Start(t).URL(), "file": "file:" + filepath.Join(t.TempDir(), "runs.db")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hosted{t, url}
			s := h.serve()
			h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
			h.exits(exitOK, "start", "demo/outside", "--id", "x")
			first := h.taken(s)
			h.posts(s, "complete", `{"token": "`+first.Token+`", "result": "counts"}`, http.StatusNoContent)
			h.exits(exitOK, "output", "x", "--wait")
			for _, result := range []int{1, 2, 1, 2} {
				h.posts(s, "complete", fmt.Sprintf(`{"token": "%s", "result": %d}`, first.Token, result), http.StatusConflict)
			}
			h.posts(s, "fail", `{"token": "`+first.Token+`", "detail": "no"}`, http.StatusConflict)
			told := h.exits(exitOK, "history", "x")
			for text, want := range map[string]int{"result.late        /do/0/work worker=w reported=completed": 2, "result.late        /do/0/work worker=w reported=failed": 1} {
				if n := strings.Count(told, text); n != want {
					t.Errorf("%d times %q in\n%s", n, text, told)
				}
			}
		})
	}
}
