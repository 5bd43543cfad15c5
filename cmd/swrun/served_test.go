package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const echoText = "document: {dsl: 1.0.3, namespace: demo, name: NAME, version: 1.0.0}\ndo:\n- echo: {set: '${ . }'}\n"

// TestServeWhatIsRight: a document that is faulty, misspelt, a duplicate, or whose version is taken does not affect the others, and is reported in
// the log and by health. SIGHUP reads the folder again. --strict does not start.
func TestServeWhatIsRight(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	echo := func(name string) string { return strings.Replace(echoText, "NAME", name, 1) }
	h.exits(exitOK, "deploy", mustWriteFile(t, "taken.yaml", echo("taken")))
	write("a.yaml", echo("a"))
	write("z.yaml", strings.Replace(echo("z"), "do:", "schedule: {every: {hours: 1}}\ndo:", 1))
	write("broken.yaml", strings.Replace(echo("broken"), "set:", "sett:", 1))
	write("text.yaml", "do: [")
	write("misspelt.yaml", strings.Replace(echo("misspelt"), "document:", "documnet:", 1))
	write("taken.yaml", strings.Replace(echo("taken"), "echo:", "other:", 1))
	write("twice1.yaml", echo("twice"))
	write("twice2.yaml", strings.Replace(echo("twice"), "echo:", "other:", 1))
	write("openapi.yaml", "openapi: 3.0.0\ninfo: {title: x, version: '1'}\npaths: {}\n")
	write("below/b.yaml", echo("b"))
	wrong := []string{"broken.yaml", "text.yaml", "misspelt.yaml", "taken.yaml", "twice1.yaml", "twice2.yaml"}

	if code, _ := h.swrun("serve", folder, "--strict", "--listen", "127.0.0.1:0"); code == exitOK {
		t.Error("--strict has started")
	}
	if out := h.exits(exitOK, "workflows", "-o", "name"); strings.Contains(out, "demo/a") {
		t.Errorf("--strict has deployed something: %s", out)
	}

	s := h.listening("serve", folder, "--listen", "127.0.0.1:0")
	said := s.err.String()
	for _, name := range wrong {
		if !strings.Contains(said, `msg="a document is not served" file=`+filepath.Join(folder, name)+" error=") {
			t.Errorf("the log does not tell of %s:\n%s", name, said)
		}
	}
	for _, text := range []string{
		`msg="a document is deployed" workflow=demo/a:1.0.0 file=` + filepath.Join(folder, "a.yaml"),
		`workflow=demo/z:1.0.0 file=` + filepath.Join(folder, "z.yaml") + ` schedule="every, next: `,
		`swrun serve ` + filepath.Join(folder, "below"),
	} {
		if !strings.Contains(said, text) {
			t.Errorf("%q is not said:\n%s", text, said)
		}
	}
	if strings.Contains(said, "openapi.yaml") {
		t.Errorf("it tells of what is no workflow:\n%s", said)
	}
	h.answers(s, "/v1/health", http.StatusOK, "documents are not served: "+filepath.Join(folder, "broken.yaml"))
	for _, workflow := range []string{"a", "z"} {
		if got := s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/`+workflow+`"}`); !strings.HasPrefix(got, "201 ") {
			t.Errorf("%s: %s", workflow, got)
		}
	}
	for _, name := range wrong {
		write(name, echo(strings.TrimSuffix(name, ".yaml")))
	}
	write("taken.yaml", echo("taken"))
	s.hangups <- syscall.SIGHUP
	h.answers(s, "/v1/health", http.StatusOK, "every document of the folders is served")
	if got := s.asks(t, "POST", "/v1/runs", `{"workflow": "demo/broken"}`); !strings.HasPrefix(got, "201 ") {
		t.Errorf("after SIGHUP: %s", got)
	}
	if code := s.stop(); code != exitOK && code != exitTerminate {
		t.Errorf("it ended with %d", code)
	}
}

// TestServeTellsOfMissingChildren: the log names tasks that run workflows which are not deployed, after all documents of the folder are deployed. It
// does not name two documents that run each other.
func TestServeTellsOfMissingChildren(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	folder := t.TempDir()
	runs := func(name, child, version string) {
		t.Helper()
		text := "document: {dsl: 1.0.3, namespace: demo, name: " + name + ", version: 1.0.0}\ndo:\n- a: {run: {workflow: {namespace: demo, name: " + child + ", version: " + version + "}}}\n"
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runs("first", "second", "1.0.0")
	runs("second", "first", "latest")
	runs("itself", "itself", "1.0.0")
	runs("lost", "nowhere", "latest")
	runs("old", "first", "9.9.9")
	catalog := catalogServer(t, map[string]string{"/functions/pay/1.0.0/function.yaml": "run: {workflow: {namespace: demo, name: bank, version: latest}}"})
	if err := os.WriteFile(filepath.Join(folder, "pays.yaml"), []byte("document: {dsl: 1.0.3, namespace: demo, name: pays, version: 1.0.0}\ndo:\n- a: {call: pay:1.0.0@default}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := h.listening("serve", folder, "--listen", "127.0.0.1:0", "--catalog", catalog.URL, "--network", "any")
	said := s.err.String()
	for _, text := range []string{
		"file=" + filepath.Join(folder, "pays.yaml") + ` line=3 workflow=demo/bank:latest missing="no such workflow is deployed" function=catalog:/functions/pay/1.0.0/function.yaml`,
		"file=" + filepath.Join(folder, "lost.yaml") + ` line=3 workflow=demo/nowhere:latest missing="no such workflow is deployed"`,
		"file=" + filepath.Join(folder, "old.yaml") + ` line=3 workflow=demo/first:9.9.9 missing="its version 9.9.9 is not deployed: there are 1.0.0"`,
	} {
		if !strings.Contains(said, text) {
			t.Errorf("%s is not said:\n%s", text, said)
		}
	}
	if n := strings.Count(said, "a task runs a workflow that is not deployed"); n != 3 {
		t.Errorf("%d workflows are told as missing:\n%s", n, said)
	}
	if code := s.stop(); code != exitOK && code != exitTerminate {
		t.Errorf("it ended with %d", code)
	}
}
