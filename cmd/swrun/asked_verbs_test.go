package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/runtime/store"
)

// localVerbs returns the verbs that use no deployment, or need the store for themselves, with the reasons.
func localVerbs() map[string]string {
	const document, process = "it is about documents", "it works in this process"
	return map[string]string{
		"init": document, "validate": document, "lint": document, "fmt": document, "graph": document, "expr": document, "explain": document, "schema": document,
		"version": "it is about this program", "bench": "it measures a store", "worker": process, "serve": process, "dev": process, "run": process,
	}
}

// TestEveryVerbAsksTheSame: every verb for a deployment prints and ends the same, whether it opens the file, asks the holder of the file, or asks a
// server. The other verbs have no --server.
func TestEveryVerbAsksTheSame(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	failing, nap, daily := filepath.Join(folder, "failing.yaml"), filepath.Join(folder, "nap.yaml"), filepath.Join(folder, "daily.yaml")
	for file, text := range map[string]string{failing: failingDocument, nap: napText, daily: dailyText} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	function, otherFunction := mustWriteFile(t, "function.yaml", "set: {a: 1}\n"), mustWriteFile(t, "other.yaml", "set: {a: 2}\n")
	export, event, otherEvent := filepath.Join(folder, "export.json"), filepath.Join(folder, "event.json"), filepath.Join(folder, "other.json")
	for file, data := range map[string]string{event: "1", otherEvent: "2"} {
		if err := os.WriteFile(file, []byte(`{"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": `+data+`}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := map[string][]askedVerb{
		"deploy":            {{exitOK, []string{failing}}, {exitOK, []string{failing, "--check-runs", "-o", "json"}}},
		"start":             {{exitConflict, []string{"demo/failing", "--id", "a"}}, {exitNotFound, []string{"demo/none"}}, {exitNotFound, []string{"demo/failing:9.9.9"}}, {exitUsage, []string{"demo"}}},
		"wait":              {{exitFaulted, []string{"a"}}, {exitNotFound, []string{"none"}}},
		"output":            {{exitFaulted, []string{"a"}}, {exitFaulted, []string{"a", "--wait"}}, {exitNotFound, []string{"demo/none"}}},
		"ls":                {{exitOK, []string{"-o", "json"}}, {exitUsage, []string{"--where", "colour=red"}}, {exitOK, []string{"--count", "--by", "status"}}},
		"trouble ls":        {{exitOK, []string{"-o", "json", "--jq", "[.groups[] | .trouble, .runs]"}}, {exitOK, []string{"--all", "-o", "name"}}, {exitUsage, []string{"--where", "colour=red"}}},
		"trouble ack":       {{exitNotFound, []string{"0123456789"}}},
		"trouble unack":     {{exitNotFound, []string{"0123456789"}}},
		"events unmatched":  {{exitOK, []string{"--type", "none", "-o", "json"}}, {exitUsage, []string{"--limit", "0"}}},
		"events listeners":  {{exitOK, []string{"-o", "json"}}, {exitUsage, []string{"--limit", "0"}}},
		"describe":          {{exitOK, []string{"a"}}, {exitOK, []string{"a", "-o", "json"}}, {exitNotFound, []string{"none"}}},
		"history":           {{exitOK, []string{"a"}}, {exitOK, []string{"a", "--follow", "-o", "json"}}, {exitOK, []string{"a", "--task", "2"}}, {exitNotFound, []string{"none"}}},
		"deadlines":         {{exitOK, []string{"--within", "1h"}}},
		"events publish":    {{exitOK, []string{event, "-o", "json", "--jq", ".accepted"}}, {exitConflict, []string{otherEvent}}, {exitUsage, []string{failing}}},
		"events tail":       {{exitOK, []string{"--since", "1h", "--count", "3", "-o", "ndjson", "--where", "id=a"}}, {exitOK, []string{"--since", "1h", "--count", "2", "--type", "workflow"}}, {exitUsage, []string{"--type", "nonsense"}}, {exitUsage, []string{"--where", "colour=red"}}},
		"schedule ls":       {{exitOK, []string{"-o", "name"}}},
		"schedule describe": {{exitOK, []string{"demo/daily", "-o", "json", "--jq", "[.kind, .paused, .missed]"}}, {exitNotFound, []string{"demo/nap"}}, {exitUsage, []string{"daily"}}},
		"schedule pause":    {{exitOK, []string{"demo/daily", "--reason", "why", "-o", "json", "--jq", "[.pause.reason, .next]"}}, {exitNotFound, []string{"demo/nap"}}},
		"schedule resume":   {{exitOK, []string{"demo/daily", "-o", "json", "--jq", ".pause"}}, {exitNotFound, []string{"demo/nap"}}},
		"schedule trigger":  {{exitConflict, []string{"demo/daily", "--id", "a"}}, {exitUsage, []string{"demo/daily", "--id", "{}"}}, {exitNotFound, []string{"demo/nap"}}},
		"sink ls":           {{exitOK, []string{"-o", "json", "--jq", "length"}}},
		"sink dead-letters": {{exitNotFound, []string{"none"}}},
		"sink retry":        {{exitNotFound, []string{"none"}}},
		"sink drop":         {{exitNotFound, []string{"none", "demo/one-1"}}},
		"events dead ls":    {{exitOK, []string{"-o", "json"}}, {exitOK, []string{"orders"}}, {exitOK, []string{"none", "-n", "demo"}}},
		"events dead drop":  {{exitNotFound, []string{"orders/none"}}, {exitUsage, nil}},
		"queue ls":          {{exitOK, []string{"-o", "name"}}},
		"queue limit":       {{exitOK, []string{"gpu", "--concurrency", "4", "-o", "json", "--jq", ".concurrency"}}, {exitUsage, []string{"gpu", "--concurrency", "-1"}}},
		"queue pause":       {{exitOK, []string{"gpu", "--reason", "why", "-o", "json", "--jq", ".paused.reason"}}},
		"queue resume":      {{exitOK, []string{"gpu", "-o", "json", "--jq", ".paused"}}},
		"function deploy":   {{exitOK, []string{"greet:1.0.0", function}}, {exitConflict, []string{"greet:1.0.0", otherFunction}}, {exitInvalid, []string{"greet:1.1.0", failing}}, {exitUsage, []string{"greet:1", function}}, {exitStore, []string{"damaged:1.0.0", function}}, {exitOK, []string{"greet:1.0.0", function, "-o", "json", "--jq", ".[].digest"}}},
		"function ls":       {{exitOK, []string{"-o", "name"}}, {exitOK, []string{"-o", "json", "--jq", "map([.name, .versions[].damaged])"}}},
		"function show":     {{exitOK, []string{"greet:1.0.0"}}, {exitOK, []string{"greet:1.0.0", "-o", "json", "--jq", "del(.deployedAt)"}}, {exitNotFound, []string{"greet:2.0.0"}}, {exitStore, []string{"damaged:1.0.0"}}},
		"function rm":       {{exitNotFound, []string{"greet:2.0.0"}}, {exitUsage, []string{"greet"}}},
		"workflows ls":      {{exitOK, []string{"-o", "json", "--jq", "map(.name)"}}, {exitOK, []string{"--since", "1h", "-o", "name"}}, {exitNotFound, []string{"demo/none"}}, {exitUsage, []string{"--since", "soon"}}},
		"workflows show":    {{exitOK, []string{"demo/failing"}}, {exitOK, []string{"demo/daily:1.0.0", "-o", "json", "--jq", "[.version, .deployedFrom]"}}, {exitNotFound, []string{"demo/daily:2.0.0"}}, {exitNotFound, []string{"demo/none"}}, {exitUsage, []string{"daily"}}},
		"workflows rm":      {{exitNotFound, []string{"demo/daily:2.0.0"}}, {exitUsage, []string{"demo/daily"}}, {exitUsage, []string{"a b"}}},
		"config set":        {{exitOK, []string{"-n", "demo", "runTimeout=1h"}}, {exitUsage, []string{"nonsense=1"}}},
		"config ls":         {{exitOK, []string{"-o", "json"}}},
		"config unset":      {{exitOK, []string{"-n", "demo", "runTimeout"}}},
		"deadline set":      {{exitConflict, []string{"a", "+10m"}}, {exitNotFound, []string{"none", "+10m"}}, {exitUsage, []string{"a", "soon"}}},
		"fork":              {{exitNotFound, []string{"none"}}, {exitConflict, []string{"a", "--from", "/do/9"}}},
		"migrate":           {{exitConflict, []string{"a", "--to", "latest"}}, {exitNotFound, []string{"none", "--to", "latest"}}},
		"export":            {{exitOK, []string{"a", "--jq", ".run.id"}}, {exitNotFound, []string{"none"}}},
		"import":            {{exitConflict, []string{export}}, {exitUsage, []string{failing}}},
		"repair":            {{exitOK, []string{"--dry-run"}}},
		"cancel":            {{exitConflict, []string{"a"}}, {exitNotFound, []string{"none"}}, {exitUsage, []string{"--where", "colour=red", "--yes"}}},
		"terminate":         {{exitConflict, []string{"a"}}},
		"suspend":           {{exitConflict, []string{"a"}}},
		"resume":            {{exitConflict, []string{"a"}}},
		"retry":             {{exitConflict, []string{"a", "--now"}}, {exitNotFound, []string{"none"}}},
		"delete":            {{exitNotFound, []string{"none"}}},
		"token new":         {{exitUsage, []string{"ada", "--role", "king", "-n", "demo"}}},
		"token ls":          {{exitOK, nil}},
		"token revoke":      {{exitNotFound, []string{"ada"}}},
		"workers":           {{exitOK, []string{"--jq", "type", "-o", "json"}}},
		"doctor":            {{exitStore, []string{"-o", "json", "--jq", "[.schema, (.checks | map(select(.code == \"SD006\")) | length)]"}}},
	}
	h := &hosted{t, "file:" + filepath.Join(folder, "runs.db")}
	h.exits(exitFaulted, "run", failing, "--id", "a")
	if err := os.WriteFile(export, []byte(h.exits(exitOK, "export", "a")), 0o600); err != nil {
		t.Fatal(err)
	}
	h.exits(exitOK, "deploy", failing, daily)
	h.damageFunction("damaged:1.0.0")
	dead := h.keepDead(deadletter.Message{Source: "orders", Kind: "redis", Place: "7-0", Why: "it is no event", Message: cloudevent.Message{Body: []byte("{")}})
	asked["events dead get"] = []askedVerb{{exitOK, []string{dead}}, {exitNotFound, []string{"orders/none"}}, {exitNotFound, []string{dead, "-n", "demo"}}}
	asked["events dead retry"] = []askedVerb{{exitInput, []string{dead}}, {exitNotFound, []string{"none"}}, {exitNotFound, []string{"orders", "-n", "demo"}}}
	here := h.eachVerb(asked, "--store", h.url)
	s := h.serve()
	compareVerbs(t, "through whoever has the file", here, h.eachVerb(asked, "--store", h.url))
	compareVerbs(t, "of a server", here, h.eachVerb(asked, "--server", s.url))
}

// damageFunction stores an entry that is no function.
func (h *hosted) damageFunction(named string) {
	h.Helper()
	s, err := swrun.OpenStore(h.Context(), h.url, swrun.StoreConfig{})
	if err != nil {
		h.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Register(h.Context(), store.Registration{Kind: store.RegistryFunctions, Key: named, Value: []byte("1 {}")}); err != nil {
		h.Fatal(err)
	}
}

// keepDead keeps a message that could not be published, and returns its id.
func (h *hosted) keepDead(m deadletter.Message) string {
	h.Helper()
	s, err := swrun.OpenStore(h.Context(), h.url, swrun.StoreConfig{})
	if err != nil {
		h.Fatal(err)
	}
	defer s.Close()
	if err := deadletter.Keep(h.Context(), s, m); err != nil {
		h.Fatal(err)
	}
	all, err := deadletter.All(h.Context(), s, nil)
	if err != nil || len(all) != 1 {
		h.Fatal(all, err)
	}
	return all[0].ID(all[0].Letters[0])
}

const dailyText = "document: {dsl: 1.0.3, namespace: demo, name: daily, version: 1.0.0}\nschedule: {cron: '0 9 * * *'}\ndo: [{a: {set: {n: 1}}}]\n"

// eachVerb runs all verbs of cobra's tree, with the flags of a target, and returns their outputs. The outputs contain TARGET in the place of the target.
func (h *hosted) eachVerb(asked map[string][]askedVerb, target ...string) map[string]string {
	h.Helper()
	said := map[string]string{}
	same := strings.NewReplacer(strings.Join(target, " "), "TARGET", target[1], "TARGET", h.url, "TARGET")
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "swrun ")
		asks := cmd.Flags().Lookup("server") != nil
		for _, below := range cmd.Commands() {
			each(below)
		}
		switch {
		case cmd.HasSubCommands():
			return
		case asks == (localVerbs()[name] != ""), asks == (len(asked[name]) == 0):
			h.Errorf("%s: is it local, and if not, what does it say of each deployment?", name)
		}
		for _, c := range asked[name] {
			args := append(append(strings.Fields(name), c.args...), target...)
			streams := capture(nil)
			streams.now = time.Now
			if code := run(args, streams.streams); code != c.code {
				h.Errorf("%v ended with %d, not %d: %s", args, code, c.code, streams.stderr.String())
			}
			said[name+" "+strings.Join(c.args, " ")] = same.Replace(streams.stdout.String() + streams.stderr.String())
		}
	}
	for _, verb := range verbs() {
		each(verb)
	}
	return said
}

func compareVerbs(t *testing.T, which string, want, got map[string]string) {
	t.Helper()
	for command, text := range want {
		if got[command] != text {
			t.Errorf("%s %s:\n%s\nalone:\n%s", command, which, got[command], text)
		}
	}
}

// TestHolderOfAnotherVersion: if the holder does not understand a request, the error contains both versions; if it refuses a request for another
// reason, the error contains that reason.
func TestHolderOfAnotherVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	l, err := net.Listen("unix", file+".sock")
	if err != nil {
		t.Fatal(err)
	}
	traced := ""
	other := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Swrun-Version", "v9.8.7")
		traced = r.Header.Get("Traceparent")
		if r.URL.Path == "/livez" {
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		detail := `there is no path \"/v1/workers\"`
		if r.URL.Path != "/v1/workers" {
			detail = "there is no run demo/a"
		}
		w.Write([]byte(`{"type": "https://github.com/swrun/swrun/errors/not-found", "status": 404, "detail": "` + detail + `"}`))
	})}
	go other.Serve(l)
	defer other.Close()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"workers"}, exitStore, "is swrun v9.8.7, and this is swrun (devel), which it does not understand: there is no path"},
		{[]string{"describe", "a"}, exitNotFound, "swrun: there is no run demo/a\n"},
	} {
		streams := capture(map[string]string{"SWRUN_STORE": "file:" + file, "TRACEPARENT": parent})
		if code := run(c.args, streams.streams); code != c.code || !strings.Contains(streams.stderr.String(), c.want) {
			t.Errorf("%v ended with %d: %s", c.args, code, streams.stderr.String())
		}
	}
	if traced != parent {
		t.Errorf("its traceparent is %q", traced)
	}
}
