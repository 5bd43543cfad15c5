package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redact/redacttest"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// crashSecrets returns two secrets that are unmistakable.
func crashSecrets() map[string]any {
	return map[string]any{"api": `canary/0f+Lw"7=x9`, "db": map[string]any{"username": "dora-canary", "password": "Qz81-password-canary"}}
}

// The path of a request determines the secret that it must contain.
const secretive = `use: {secrets: [api, db], authentications: {basic: {basic: {use: db}}}}
timeout: {after: PT2M}
do:
- from:
    input: {from: "${ {key: $secrets.api} }"}
    do:
    - first: {call: http, with: {method: post, endpoint: '@SINK/api/0', headers: {X-Key: "${ .key }"}, body: "${ . }"}, output: {as: $input}}
    - nap: {wait: {milliseconds: 20}}
    - again: {call: http, with: {method: post, endpoint: '@SINK/api/1', headers: {X-Key: "${ .key }"}, body: "${ . }"}, output: {as: $input}}
    export: {as: "${ {kept: $secrets.db.password} }"}
- context: {call: http, with: {method: get, endpoint: '@SINK/password/2', headers: {X-Key: "${ $context.kept }"}}}
- header: {call: http, with: {method: get, endpoint: '@SINK/api/3', headers: {X-Key: "${ $secrets.api }"}}}
- policy: {call: http, with: {method: get, endpoint: {uri: '@SINK/password/4', authentication: {use: basic}}}}
- child: {run: {workflow: {namespace: test, name: child, version: 0.1.0}}}
- loop: {for: {in: "${ [$secrets.api, $secrets.api] }"}, do: [{one: {call: http, with: {method: get, endpoint: "${ \"@SINK/api/\" + ($index + 5 | tostring) }", headers: {X-Key: "${ $item }"}}}}]}
- last: {set: "${ {key: $secrets.api, kept: $context.kept} }"}
`

const secretiveChild = `document: {dsl: 1.0.3, namespace: test, name: child, version: 0.1.0}
use: {secrets: [db]}
do:
- a: {set: {key: "${ $secrets.db.password }"}}
- b: {call: http, with: {method: post, endpoint: '@SINK/password/7', headers: {X-Key: "${ .key }"}, body: "${ . }"}, output: {as: $input}}
- c: {call: http, with: {method: get, endpoint: '@SINK/password/8', headers: {X-Key: "${ .key }"}}}
`

// TestKillWithSecrets: workers are killed in the middle of runs that use secrets in an input, in their context, a header, a loop and a child. Other
// workers take over and send the real values, and no byte of the store ever contains one: Redis keeps everything that it has ever received in its
// append-only file.
func TestKillWithSecrets(t *testing.T) {
	search := redacttest.For(crashSecrets())
	w := newWorld(t, 30*time.Millisecond, redacttest.Redis()...)
	if _, err := w.client.Deploy(t.Context(), definition.Definition{Document: strings.ReplaceAll(secretiveChild, "@SINK", w.sink.url)}); err != nil {
		t.Fatal(err)
	}
	w.start(of(20), secretive)
	admin := w.redisClient()
	secrets := w.secretsFile()
	start := func() *worker { return w.work("--secrets", secrets, "--log-level", "debug") }
	alive := []*worker{start(), start()}
	ends := int64(2 * len(w.runs)) // of a run and its child
	for kills := range 4 {
		w.reach(2 * (kills + 1) * len(w.runs))
		victim := kills % len(alive) // one of them may have had no run
		alive[victim].kill()
		if err := admin.Save(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		search.AbsentBelow(t, w.redis.Folder())
		alive[victim] = start()
	}
	w.settleAll(ends, pacetest.Patience)
	w.auditSecrets(search)
}

// secretsFile writes the secrets of crashSecrets.
func (w *world) secretsFile() string {
	w.Helper()
	text, err := json.Marshal(crashSecrets())
	if err != nil {
		w.Fatal(err)
	}
	file := filepath.Join(w.TempDir(), "secrets.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		w.Fatal(err)
	}
	return file
}

// auditSecrets checks all sent, stored and logged data.
func (w *world) auditSecrets(search redacttest.Search) {
	w.Helper()
	taken := 0
	w.audit(interpreter.StatusCompleted, func(_ store.Instance, entries []client.HistoryEntry) {
		if takenOver(entries) {
			taken++
		}
	})
	if taken == 0 {
		w.Error("no run was taken over: nothing was tested")
	}
	w.sentSecrets()
	for _, i := range w.runs {
		outcome, _, err := w.client.Outcome(w.Context(), i)
		text, _ := json.Marshal(outcome.Output) // it was read from JSON
		if want := `{"kept":"‹redacted: db›","key":"‹redacted: api›"}`; err != nil || string(text) != want {
			w.Errorf("%s has the output %s, %v", i, text, err)
		}
	}
	search.AbsentBelow(w, w.redis.Folder())
	for _, k := range w.workers {
		search.Absent(w, "a log", strings.Join(k.everything(), "\n"))
	}
}

// sentSecrets checks that every request contains the secret that its path names.
func (w *world) sentSecrets() {
	w.Helper()
	w.sink.mu.Lock()
	defer w.sink.mu.Unlock()
	want := map[string]string{"api": crashSecrets()["api"].(string), "password": crashSecrets()["db"].(map[string]any)["password"].(string)}
	seen := map[string]int{}
	again := 0
	for _, all := range w.sink.requests {
		for _, r := range all {
			if r.key != want[strings.Split(r.path, "/")[1]] {
				w.Errorf("%s came with %q", r.path, r.key)
			}
		}
		seen[all[0].path]++
		again += len(all) - 1
	}
	for path, n := range seen {
		if n != len(w.runs) {
			w.Errorf("%s was asked for by %d runs of %d", path, n, len(w.runs))
		}
	}
	if len(seen) != 9 {
		w.Errorf("%d paths were asked for, want 9: %v", len(seen), seen)
	}
	w.Logf("%d requests were repeated", again)
}
