package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerbsAskTheHolderOfAFile: while a worker or a server holds the file of a store, verbs work through it, and afterwards on their own. Its socket
// is for its owner alone, and is removed with it.
func TestVerbsAskTheHolderOfAFile(t *testing.T) {
	for _, folder := range []string{"", strings.Repeat("long/", 30)} {
		file := filepath.Join(t.TempDir(), folder, "runs.db")
		h := &hosted{t, "file:" + file}
		s := h.serve()
		info, err := os.Lstat(file + ".sock")
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket is %v, %v", info, err)
		}
		for range 2 {
			h.exits(exitOK, "config", "set", "-n", "demo", "runTimeout=1h")
			h.exits(exitOK, "config", "ls", "-o", "json")
			h.exits(exitOK, "config", "unset", "-n", "demo", "runTimeout")
			h.exits(exitOK, "token", "ls")
			h.exits(exitOK, "workers")
			h.exits(exitOK, "repair", "--dry-run")
			h.exits(exitOK, "queue", "limit", "gpu", "--concurrency", "4")
			h.exits(exitOK, "queue", "pause", "gpu", "--reason", "the driver")
			h.exits(exitOK, "queue", "resume", "gpu")
			h.exits(exitUsage, "queue", "limit", "gpu", "--concurrency", "-1")
			h.exits(exitOK, "queue", "ls", "-o", "name")
			h.exits(exitOK, "workflows")
			h.exits(exitNotFound, "workflows", "demo/none")
			h.exits(exitOK, "token", "new", "ada", "--role", "viewer", "-n", "demo")
			h.exits(exitConflict, "token", "new", "ada", "--role", "viewer", "-n", "demo")
			h.exits(exitOK, "token", "revoke", "ada")
			h.exits(exitNotFound, "token", "revoke", "ada")
			h.exits(exitUsage, "config", "set", "nonsense=1")
			s.stop()
		}
		if _, err := os.Lstat(file + ".sock"); err == nil {
			t.Error("the socket is left")
		}
	}
}

// TestSocketThatIsLeft: the socket of a killed process does not keep other processes from the store.
func TestSocketThatIsLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + file}
	h.exits(exitOK, "config", "set", "runTimeout=1h")
	l, err := net.Listen("unix", file+".sock")
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	h.exits(exitOK, "workers")
	h.serve()
	h.exits(exitOK, "workers")
}

// TestServersThatAreNone: the error of a URL that names no swrun server contains the remedy.
func TestServersThatAreNone(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved/v1/workers":
			http.Redirect(w, r, "http://other.example/v1/workers", http.StatusFound)
		case "/broken/v1/workers":
			w.Write([]byte(`[{"name": `))
		default:
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte("<h1>hello</h1>"))
		}
	}))
	defer page.Close()
	for _, c := range []struct {
		server, want string
		code         int
	}{
		{page.URL, "does not answer as a swrun server does: status 404, text/html", exitStore},
		{page.URL + "/moved", "it redirects to http://other.example/v1/workers: name that server", exitStore},
		{page.URL + "/broken", "does not answer as a swrun server does", exitStore},
		{"http://127.0.0.1:1", "cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused", exitStore},
		{"redis://localhost", "must begin with http:// or https://", exitUsage},
		{"http://ada:secret@localhost", "must have neither a user", exitUsage},
		{"nonsense", "is not the URL of a server", exitUsage},
		{" ", "--server is empty", exitUsage},
	} {
		streams := capture(map[string]string{"SWRUN_TOKEN": "t0ken"})
		code := run([]string{"workers", "--server", c.server}, streams.streams)
		if said := streams.stderr.String(); code != c.code || !strings.Contains(said, c.want) || strings.Contains(said, "secret") || strings.Contains(said, "t0ken") {
			t.Errorf("%s: exit %d: %s", c.server, code, said)
		}
	}
}

// TestServerAndStore: it must be unambiguous whether the server or the store is meant.
func TestServerAndStore(t *testing.T) {
	file := "file:" + filepath.Join(t.TempDir(), "runs.db")
	for _, c := range []struct {
		env  map[string]string
		args []string
		code int
	}{
		{nil, []string{"--server", "http://127.0.0.1:1", "--store", file}, exitUsage},
		{map[string]string{"SWRUN_SERVER": "http://127.0.0.1:1", "SWRUN_STORE": file}, nil, exitUsage},
		{map[string]string{"SWRUN_SERVER": "http://127.0.0.1:1"}, nil, exitStore},
		{map[string]string{"SWRUN_SERVER": "http://127.0.0.1:1"}, []string{"--store", "memory:"}, exitUsage},
		{map[string]string{"SWRUN_STORE": file}, []string{"--server", "http://127.0.0.1:1"}, exitStore},
		{nil, []string{"--server", "http://127.0.0.1:1", "--token-file", filepath.Join(t.TempDir(), "none")}, exitNotFound},
	} {
		streams := capture(c.env)
		if code := run(append([]string{"workers"}, c.args...), streams.streams); code != c.code {
			t.Errorf("%v %v: exit %d: %s", c.env, c.args, code, streams.stderr.String())
		}
	}
}

// TestServerWithTokens: a verb sends its token, and its error without one names the token.
func TestServerWithTokens(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	token := h.exits(exitOK, "token", "new", "ada", "--role", "admin", "--all-namespaces")
	s := h.serve("--auth")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		args []string
		code int
		want string
	}{
		{map[string]string{"SWRUN_TOKEN": token}, nil, exitOK, ""},
		{nil, []string{"--token-file", file}, exitOK, ""},
		{nil, nil, exitStore, "swrun token new makes a token"},
		{map[string]string{"SWRUN_TOKEN": "nonsense"}, nil, exitStore, "token"},
	} {
		streams := capture(c.env)
		if code := run(append([]string{"token", "ls", "--server", s.url}, c.args...), streams.streams); code != c.code || !strings.Contains(streams.stderr.String(), c.want) {
			t.Errorf("%v %v: exit %d: %s", c.env, c.args, code, streams.stderr.String())
		}
	}
}

// TestServerHidesData: with a token that hides the data of runs the verbs report the outcome of runs, and that data is omitted.
func TestServerHidesData(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	for name, body := range map[string]string{"ends": "{set: '${ . }'}", "fails": "{raise: {error: {type: https://a.b/c, status: 400, title: '${ .secret }'}}}"} {
		file := mustWriteFile(t, name+".yaml", "document: {dsl: 1.0.3, namespace: demo, name: "+name+", version: 1.0.0}\ndo: [{it: "+body+"}]\n")
		h.swrun("run", file, "--id", name, "--input", `{"secret": "c4n4ry"}`)
	}
	token := h.exits(exitOK, "token", "new", "board", "--role", "viewer", "-n", "demo", "--hide-data")
	s := h.serve("--auth")
	for _, c := range []struct {
		command string
		code    int
		want    string
	}{
		{"wait ends", exitOK, "ends completed"},
		{"wait fails", exitFaulted, "fails faulted"},
		{"output ends", exitStore, "has completed; the token does not show the data of runs"},
		{"output fails", exitFaulted, "fails is faulted: https://a.b/c 400"},
		{"describe ends", exitOK, "Hidden:    the token does not show the data of runs"},
		{"describe fails", exitOK, "Failure:   https://a.b/c 400"},
		{"history fails", exitOK, "/do/0/it https://a.b/c 400"},
		{"ls", exitOK, "faulted"},
		{"export ends", exitStore, "the data of runs is hidden from this token"},
	} {
		streams := capture(map[string]string{"SWRUN_TOKEN": token, "SWRUN_SERVER": s.url})
		code := run(strings.Fields(c.command), streams.streams)
		if said := streams.stdout.String() + streams.stderr.String(); code != c.code || !strings.Contains(said, c.want) || strings.Contains(said, "c4n4ry") {
			t.Errorf("%s: exit %d: %s", c.command, code, said)
		}
	}
}
