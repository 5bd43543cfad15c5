package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/pacetest"
)

const callsWithSecret = `document: {dsl: 1.0.3, namespace: demo, name: sec, version: 0.1.0}
use: {secrets: [api]}
do:
- ask: {call: http, with: {method: get, endpoint: "URL/?key={key}", headers: {X-Key: "${ $secrets.api }"}, output: response}, input: {from: {key: x}}}
- again: {set: {first: "${ .headers[\"X-Was\"] }"}}
`

// mount makes a folder of secrets as Kubernetes does: links into a folder that is a link itself, which is replaced in one step.
type mount struct {
	*testing.T
	folder string
	n      int
}

func (m *mount) swap(secrets map[string]string) {
	m.Helper()
	m.n++
	data := filepath.Join(m.folder, "..v"+strings.Repeat("i", m.n))
	check := func(err error) {
		if err != nil {
			m.Fatal(err)
		}
	}
	check(os.MkdirAll(data, 0o700))
	for name, text := range secrets {
		check(os.WriteFile(filepath.Join(data, name), []byte(text), 0o600))
		_ = os.Remove(filepath.Join(m.folder, name)) // of the former version
		check(os.Symlink(filepath.Join("..data", name), filepath.Join(m.folder, name)))
	}
	link := filepath.Join(m.folder, "..new")
	check(os.Symlink(data, link))
	check(os.Rename(link, filepath.Join(m.folder, "..data")))
}

// TestReplacedSecrets: a server that reads a folder of secrets takes replaced secrets, automatically and immediately on SIGHUP; a run that waits for
// a secret continues when it exists. A task that began with the former value shows neither.
func TestReplacedSecrets(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	waits, release := make(chan struct{}), make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("X-Key"))
		n := len(keys)
		mu.Unlock()
		if n == 1 {
			close(waits)
			<-release
		}
		w.Header().Set("X-Was", r.Header.Get("X-Key"))
	}))
	defer service.Close()
	released := sync.OnceFunc(func() { close(release) })
	defer released()
	m := &mount{T: t, folder: filepath.Join(t.TempDir(), "secrets")}
	m.swap(map[string]string{"other": "value-of-other"})
	h := newHosted(t)
	h.exits(exitOK, "deploy", mustWriteFile(t, "sec.yaml", strings.ReplaceAll(callsWithSecret, "URL", service.URL)))
	s := h.listening("serve", "--listen", "127.0.0.1:0", "--network", "any", "--secrets", m.folder)
	h.exits(exitOK, "start", "demo/sec", "--id", "one")
	h.until("waits for a worker that has the secret api", "describe", "one")

	m.swap(map[string]string{"api": "first-value\n", "other": "value-of-other"})
	select {
	case <-waits: // it was noticed without a signal
	case <-time.After(pacetest.Patience):
		t.Fatalf("the secret is not noticed:\n%s\n%s", s.err, h.exits(exitOK, "describe", "one"))
	}
	m.swap(map[string]string{"api": "second-value\n", "other": "value-of-other"})
	s.hangups <- syscall.SIGHUP
	s.saysTimes(t, "the secrets were replaced", 2)
	released()
	h.exits(exitOK, "wait", "one")
	h.exits(exitOK, "start", "demo/sec", "--id", "two")
	h.exits(exitOK, "wait", "two")
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(keys, " "); got != "first-value second-value" {
		t.Errorf("the keys are %s", got)
	}
	for _, run := range []string{"one", "two"} {
		shown := h.exits(exitOK, "history", run, "-o", "ndjson") + h.exits(exitOK, "output", run) + s.err.String()
		if strings.Contains(shown, "first-value") || strings.Contains(shown, "second-value") {
			t.Errorf("it shows a secret:\n%s", shown)
		}
	}
}

// saysTimes waits until a log contains a text n times.
func (s *serving) saysTimes(t *testing.T, text string, n int) {
	t.Helper()
	for late := time.After(pacetest.Patience); strings.Count(s.err.String(), text) < n; {
		select {
		case <-s.err.lines:
		case <-late:
			t.Fatalf("%q is not said %d times:\n%s", text, n, s.err)
		}
	}
}

// TestSecretsThatCannotBeReread: the former secrets stay while a file cannot be read, which is reported once for each reason.
func TestSecretsThatCannotBeReread(t *testing.T) {
	file := mustWriteFile(t, "s.yaml", "api: one-value\n")
	c := capture(nil)
	p := &program{streams: c.streams}
	f := &workerFlags{secrets: file, logLevel: "info"}
	if err := f.logTo(p); err != nil {
		t.Fatal(err)
	}
	has := func(name string, want any) {
		t.Helper()
		if got, _ := p.secrets.Lookup(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, text := range []string{"api: [", "a\x00", "api", ""} {
		mustRewrite(t, file, text)
		f.rereads.reread()
		f.rereads.reread()
		has("api", "one-value")
	}
	if got := strings.Count(c.stderr.String(), "the secrets cannot be read again"); got < 2 || got > 4 || strings.Contains(c.stderr.String(), "one-value") {
		t.Errorf("it is told %d times:\n%s", got, c.stderr.String())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	f.rereads.reread()
	has("api", "one-value")
	mustRewrite(t, file, "api: two-value\nnew: {user: ada-lovelace}\n")
	f.rereads.reread()
	has("api", "two-value")
	for _, value := range []string{"one-value", "two-value", "ada-lovelace"} {
		if hidden := p.secrets.Hide("it is " + value); strings.Contains(hidden, value) {
			t.Errorf("it shows %q", hidden)
		}
	}
	mustRewrite(t, file, "{}")
	f.rereads.reread()
	has("api", nil)
	if hidden := p.secrets.Hide("two-value one-value"); strings.Contains(hidden, "value") && !strings.Contains(hidden, "redacted") {
		t.Errorf("it shows %q", hidden)
	}
}

func mustRewrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSecretsAreReplacedWhileTheyAreRead: readers see one value or the other.
func TestSecretsAreReplacedWhileTheyAreRead(t *testing.T) {
	s := swrun.NewSecrets(map[string]any{"api": "value-0"}, nil)
	var reading sync.WaitGroup
	for range 4 {
		reading.Go(func() {
			for range 200 {
				v, ok := s.Lookup("api")
				if text, _ := v.(string); !ok || strings.Contains(s.Hide(text), text) {
					t.Errorf("it is %v, and is shown", v)
				}
			}
		})
	}
	for n := range 8 {
		s.Replace(map[string]any{"api": "value-" + strings.Repeat("x", n)})
	}
	reading.Wait()
}

// TestSomeSecretsCannotBeReread: an unreadable file of a folder keeps its former value, and does not affect other files. It is reported once for each
// reason. No secret is taken while $namespaces cannot be read. A server that starts has none of these secrets.
func TestSomeSecretsCannotBeReread(t *testing.T) {
	for name, spoil := range spoiledSecrets() {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			file := func(name string) string { return filepath.Join(folder, name) }
			for _, name := range []string{"api", "other", "$namespaces"} {
				mustRewrite(t, file(name), map[string]string{"$namespaces": `{"api": ["demo"]}`}[name]+strings.TrimPrefix(name+"-one", "$namespaces-one"))
			}
			c := capture(nil)
			p := &program{streams: c.streams}
			f := &workerFlags{secrets: folder, logLevel: "info"}
			if err := f.logTo(p); err != nil {
				t.Fatal(err)
			}
			has := func(want ...any) {
				t.Helper()
				f.rereads.reread()
				f.rereads.reread()
				for n, name := range []string{"api", "other", "new"} {
					if got, _ := p.secrets.Lookup(name); got != want[n] {
						t.Errorf("%s is %v, want %v\n%s", name, got, want[n], c.stderr.String())
					}
				}
			}
			spoil(t, file("api"))
			spoil(t, file("gone"))
			mustRewrite(t, file("other"), "other-two")
			has("api-one", "other-two", nil)
			spoil(t, file("$namespaces"))
			mustRewrite(t, file("new"), "new-one")
			has("api-one", "other-two", nil)
			if got := strings.Count(c.stderr.String(), "cannot be read again"); got != 2 || strings.Contains(c.stderr.String(), "-one") {
				t.Errorf("it is told %d times:\n%s", got, c.stderr.String())
			}
			if _, err := readSecrets(nil, folder); err == nil {
				t.Error("a start takes the folder")
			}
			for _, name := range []string{"$namespaces", "api", "gone"} {
				if err := os.Remove(file(name)); err != nil {
					t.Fatal(err)
				}
			}
			has(nil, "other-two", "new-one")
			if p.secrets.Allows("another", "api") || !p.secrets.Allows("demo", "api") {
				t.Error("it is not known any more who may use it")
			}
			mustRewrite(t, file("api"), "api-two\n")
			has("api-two", "other-two", "new-one")
		})
	}
}

// spoiledSecrets returns ways to replace a file by something unreadable.
func spoiledSecrets() map[string]func(t *testing.T, file string) {
	link := func(to string) func(*testing.T, string) {
		return func(t *testing.T, file string) {
			_ = os.Remove(file)
			if err := os.Symlink(to, file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return map[string]func(*testing.T, string){
		"a link to nothing":     link("nowhere"),
		"a link to no folder":   link("nowhere/at/all"),
		"a link to itself":      func(t *testing.T, file string) { link(filepath.Base(file))(t, file) },
		"a link to a device":    link("/dev/null"),
		"a link with much text": link(strings.Repeat("x", 300)),
		"a link below a file":   link("other/x"),
		"binary data":           func(t *testing.T, file string) { mustRewrite(t, file, "\xff\xfe") },
		"half a character":      func(t *testing.T, file string) { mustRewrite(t, file, "\xc3") },
		"too much":              func(t *testing.T, file string) { mustRewrite(t, file, strings.Repeat("x", maxSecrets+1)) },
		"all that there may be": func(t *testing.T, file string) { mustRewrite(t, file, strings.Repeat("x", maxSecrets)) },
		"a pipe": func(t *testing.T, file string) {
			_ = os.Remove(file)
			if err := syscall.Mkfifo(file, 0o600); err != nil {
				t.Skip(err)
			}
		},
	}
}
