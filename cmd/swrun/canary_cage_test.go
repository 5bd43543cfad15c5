package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/enginetest"
	"github.com/swrun/swrun/internal/grpctest"
	"github.com/swrun/swrun/redact/redacttest"
	"github.com/swrun/swrun/redisstore/redistest"
)

// canaryCage runs workflows in every possible way, and looks for their secrets in all output.
type canaryCage struct {
	*testing.T
	echo    string // a server that repeats its requests
	redis   *redistest.Server
	folder  string   // values a project, with its store and the documents
	names   []string // values the documents
	search  redacttest.Search
	secrets string // the file
	mu      sync.Mutex
	given   map[string]bool // the verbs
}

// verbsWithoutSecrets returns the verbs that are not searched for secrets, since they have none to show.
func verbsWithoutSecrets() []string {
	return []string{
		"cancel", "terminate", "suspend", "resume", "retry", "delete", "deadline", "fork", "migrate", "import", "repair", // ids
		"queue",                                // names and numbers
		"function",                             // a deployed function can read no secrets
		"token",                                // tokens of callers, and no data of workflows
		"bench",                                // workflows of its own
		"init", "schema", "version", "explain", // no data of a document
		"fmt",  // a document, which contains only the names of its secrets
		"expr", // an expression of the caller
	}
}

func newCanaryCage(t *testing.T, secrets map[string]any) *canaryCage {
	t.Helper()
	text, err := json.Marshal(secrets)
	if err != nil {
		t.Fatal(err)
	}
	c := &canaryCage{
		T: t, echo: newEcho(t), folder: t.TempDir(), search: redacttest.For(secrets), secrets: mustWriteFile(t, "secrets.json", string(text)),
		redis: redistest.Start(t, redacttest.Redis()...), given: map[string]bool{"worker": true},
	}
	return c
}

// add adds a document.
func (c *canaryCage) add(name, text string) {
	c.Helper()
	c.names = append(c.names, name)
	if err := os.WriteFile(c.file(name), []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

func (c *canaryCage) file(name string) string { return filepath.Join(c.folder, name+".yaml") }

// engine serves an engine of containers at the address that the commands use.
func (c *canaryCage) engine() {
	c.Helper()
	socket := filepath.Join(c.TempDir(), "engine.sock")
	stop, err := enginetest.New().Listen(socket)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(stop)
	c.Setenv("DOCKER_HOST", "unix://"+socket)
}

// runAll runs every document in memory, on the file and the Redis of a command, and on a worker, and searches everything.
func (c *canaryCage) runAll() {
	c.Helper()
	slices.Sort(c.names)
	c.Chdir(c.folder)
	c.engine()
	c.hosted()
	for _, name := range c.names {
		for _, args := range [][]string{
			{"--progress", "json", "--errors", "json"}, {"--progress", "tree"}, {"--clock", "virtual", "-o", "yaml"},
			{"--progress", "lines", "--id", name}, {"--progress", "json", "--id", name + "-r", "--store", c.redis.URL()},
		} {
			c.swrun("", append([]string{"run", c.file(name), "--secrets", c.secrets}, args...)...)
		}
		c.look("", name)
		for _, args := range [][]string{{"graph"}, {"graph", "-o", "mermaid"}, {"graph", "-o", "dot"}, {"lint", "-o", "json"}, {"validate"}} {
			c.swrun("", append(args, c.file(name))...)
		}
	}
	if _, err := os.Stat(filepath.Join(c.folder, ".swrun")); err != nil {
		c.Error("the project has no store:", err)
	}
	c.search.AbsentBelow(c, c.folder)
	c.searchRedis()
	for _, verb := range verbsWithoutSecrets() {
		if c.given[verb] {
			c.Errorf("%s is asked for secrets all the same", verb)
		}
		c.given[verb] = true
	}
	if missing := missingVerbs(c.given, func(*cobra.Command) bool { return true }); len(missing) > 0 {
		c.Errorf("not asked: %q", missing)
	}
}

// hosted runs the documents on a worker that logs everything.
func (c *canaryCage) hosted() {
	c.Helper()
	store := c.redis.URL()
	exported, collector := newCollector(c.T)
	log := capture(map[string]string{"SWRUN_STORE": store, "OTEL_EXPORTER_OTLP_ENDPOINT": collector})
	stop := working(c.T, log, "--secrets", c.secrets, "--network", "any", "--allow-processes", "--allow-containers", "--log-level", "debug", "--print-events")
	for _, name := range c.names {
		c.swrun(store, "deploy", c.file(name))
	}
	for _, name := range c.names {
		c.swrun(store, "start", "demo/"+name+":1.0.0", "--id", name)
	}
	const atATime = 4 // the verbs wait for the store
	var all sync.WaitGroup
	for first := range atATime {
		all.Go(func() {
			for n := first; n < len(c.names); n += atATime {
				c.swrun(store, "wait", c.names[n])
				c.look(store, c.names[n])
			}
		})
	}
	all.Wait()
	stop()
	if told := log.stderr.String(); !strings.Contains(told, "a run has ended") {
		c.Errorf("the worker tells nothing: %s", told)
	}
	c.search.Absent(c, "the log of the worker", log.stdout.String()+log.stderr.String())
	if !strings.Contains(exported.String(), "swrun.task") {
		c.Error("the worker has exported no spans")
	}
	c.search.Absent(c, "the spans", exported.String())
	c.served()
}

// served requests everything that a server returns about the runs, according to its own description.
func (c *canaryCage) served() {
	c.Helper()
	c.given["serve"], c.given["dev"] = true, true // dev is the same
	s := (&hosted{c.T, c.redis.URL()}).serve("--secrets", c.secrets, "--log-level", "debug")
	_, text := c.ask(s, http.MethodGet, "/openapi.json")
	var description struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(text), &description); err != nil || len(description.Paths) < 10 {
		c.Fatalf("%d paths are described (%v)", len(description.Paths), err)
	}
	for path, methods := range description.Paths {
		if methods["get"] == nil {
			continue
		}
		for _, name := range c.names {
			asked := strings.NewReplacer("{namespace}", "demo", "{id}", name, "{name}", name, "{version}", "1.0.0", "{seq}", "1", "{code}", "SW401").Replace(path)
			if status, text := c.ask(s, http.MethodGet, asked); status == http.StatusInternalServerError && !strings.HasSuffix(path, "/output") {
				c.Errorf("%s: %d %s", asked, status, text)
			}
			if asked == path { // it is about no run
				break
			}
		}
	}
	for _, name := range c.names {
		c.ask(s, http.MethodPost, "/v1/runs/demo/"+name+"/cancel") // it is ended
	}
	s.stop()
	c.search.Absent(c, "the log of the server", s.err.String())
}

// ask sends a request to a server, and searches the answer.
func (c *canaryCage) ask(s *serving, method, path string) (status int, text string) {
	c.Helper()
	ctx, leave := context.WithCancel(c.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	endless := path == "/v1/runs/events"
	if endless {
		r.Header.Set("Last-Event-ID", "1-demo/first-1") // from the beginning
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer answer.Body.Close()
	if endless {
		time.AfterFunc(3*time.Second, leave)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil && !endless || endless && !strings.Contains(string(body), "data: ") {
		c.Fatalf("%s: %v: %s", path, err, body)
	}
	c.search.Absent(c, method+" "+path, fmt.Sprint(answer.Header)+string(body))
	return answer.StatusCode, string(body)
}

// newCollector starts a server that accepts traces, and configures the exporter for it.
func newCollector(t *testing.T) (exported *told, url string) {
	t.Helper()
	exported = &told{lines: make(chan struct{}, 1)}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("got %s: %v", r.URL, err)
		}
		fmt.Fprintf(exported, "%s", body)
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL) // the exporter itself reads it
	return exported, collector.URL
}

// look runs every verb that shows a part of a run.
func (c *canaryCage) look(store, id string) {
	c.Helper()
	for _, args := range [][]string{
		{"history", id}, {"history", id, "-o", "json"}, {"history", id, "-o", "ndjson", "--follow"}, {"describe", id}, {"describe", id, "-o", "json"}, {"export", id},
		{"output", id}, {"output", id, "-o", "yaml"}, {"wait", id}, {"ls", "-o", "json"}, {"workers", "-o", "json"}, {"schedule", "ls", "-o", "json"}, {"sink", "ls", "-o", "json"}, {"workflows", "-o", "json"}, {"config", "ls", "-o", "json"}, {"deadlines", "-o", "json"}, {"doctor"}, {"trouble", "ls", "--all", "-o", "json"}, {"events", "unmatched", "-o", "json"}, {"events", "listeners", "-o", "json"},
	} {
		c.swrun(store, args...)
	}
}

func (c *canaryCage) swrun(store string, args ...string) {
	c.Helper()
	env := map[string]string{}
	if store != "" {
		env["SWRUN_STORE"] = store
	}
	c.mu.Lock()
	c.given[args[0]] = true
	c.mu.Unlock()
	out := capture(env)
	out.now = time.Now
	switch code := run(args, out.streams); code {
	case exitOK, exitFaulted, exitTimeout, exitFindings:
	default:
		c.Errorf("%v: exit %d: %s%s", args, code, out.stdout.String(), out.stderr.String())
	}
	c.search.Absent(c, strings.Join(args, " "), out.stdout.String()+out.stderr.String())
}

// newEcho starts a server that repeats its requests: with the status that the path names, after a challenge for a digest, or with a redirect to a
// place that repeats the key.
func newEcho(t *testing.T) string {
	other := httptest.NewServer(http.HandlerFunc(answerEcho)).URL
	services := grpctest.New(nil)
	t.Cleanup(services.Stop)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Key")
		to := map[string]string{
			"/away": "/200?k=" + url.QueryEscape(key), "/elsewhere": other + "/200/" + url.PathEscape(key), "/nowhere": "http://127.0.0.1:1/" + key,
			"/odd": "ht!tp://" + key, "/round": "/round?k=" + url.QueryEscape(key),
		}[r.URL.Path]
		switch {
		case r.Header.Get("Content-Type") == "application/grpc+proto":
			services.ServeHTTP(w, r)
		case r.URL.Path == "/echo.proto":
			_, _ = io.WriteString(w, grpctest.Proto)
		case r.URL.Path == "/openapi.json":
			_, _ = io.WriteString(w, echoDocument)
		case r.URL.Path == "/asyncapi.json":
			_, _ = fmt.Fprintf(w, `{asyncapi: 2.6.0, servers: {web: {url: "%[1]s/{path}", protocol: http, variables: {path: {default: digest}}}, things: {url: "%[1]s", protocol: mqtt5}}, channels: {"401": {publish: {}, subscribe: {}}}}`, r.Host)
		case r.URL.Path == "/oauth2/token":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "refresh_token": %[1]q}`, canaryToken)
		case r.URL.Path == "/refusing/oauth2/token":
			asked, _ := io.ReadAll(r.Body) // the part that has arrived
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error": "invalid_grant", "error_description": %q}`, asked)
		case to != "":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, to) // the client may have disconnected
		case strings.HasPrefix(r.URL.Path, "/digest") && r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Digest realm="canaries", nonce="n0nce", qop="auth", algorithm=SHA-256`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			r.URL.Path = strings.TrimPrefix(r.URL.Path, "/digest")
			answerEcho(w, r)
		}
	}))
	server.Config.ReadHeaderTimeout, server.Config.IdleTimeout = time.Second, time.Minute // a client that uses MQTT waits no longer for an answer
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// echoDocument describes the operations of the echo.
const echoDocument = `{"openapi": "3.1.0", "servers": [{"url": "/"}], "paths": {"/{status}": {"post": {"operationId": "echo", "requestBody": {"content": {"application/json": {}}}, "parameters": [
	{"name": "status", "in": "path"}, {"name": "X-Key", "in": "header"}, {"name": "k", "in": "query"}, {"name": "session", "in": "cookie"}]}}}}`

func answerEcho(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the part that has arrived
	status, before := 0, 0
	fmt.Sscanf(r.URL.Path, "/%d", &status)
	fmt.Sscan(r.URL.Query().Get("before"), &before)
	if r.URL.Query().Has("slow") {
		time.Sleep(150 * time.Millisecond) // so that the state is stored in the meantime
	}
	w.Header().Set("X-Echo", r.Header.Get("X-Key"))
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(max(status, 200))
	fmt.Fprintf(w, "%s%s\n%s\n%s %s", strings.Repeat("x", before), r.Header.Get("X-Key"), r.Header.Get("Authorization"), r.URL, body)
}

// searchRedis searches every key and value of the server, and every byte that it has written.
func (c *canaryCage) searchRedis() {
	c.Helper()
	client := redis.NewClient(&redis.Options{Addr: c.redis.Addr})
	defer client.Close()
	c.search.Absent(c, "Redis", dump(c.T, client))
	if err := client.Save(context.Background()).Err(); err != nil {
		c.Fatal(err)
	}
	files := c.search.AbsentBelow(c, c.redis.Folder())
	for _, kind := range []string{".rdb", ".aof"} {
		if !slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, kind) }) {
			c.Errorf("Redis has written no %s: %q", kind, files)
		}
	}
}

// dump returns every key and value of a server.
func dump(t *testing.T, client *redis.Client) string {
	t.Helper()
	ctx := context.Background()
	var b strings.Builder
	all := client.Scan(ctx, 0, "*", 1000).Iterator()
	for all.Next(ctx) {
		key := all.Val()
		var v any
		var err error
		switch kind := client.Type(ctx, key).Val(); kind {
		case "string":
			v, err = client.Get(ctx, key).Result()
		case "hash":
			v, err = client.HGetAll(ctx, key).Result()
		case "list":
			v, err = client.LRange(ctx, key, 0, -1).Result()
		case "set":
			v, err = client.SMembers(ctx, key).Result()
		case "zset":
			v, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "stream":
			v, err = client.XRange(ctx, key, "-", "+").Result()
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, key, v)
	}
	if b.Len() == 0 || all.Err() != nil {
		t.Fatal("nothing was found", all.Err())
	}
	return b.String()
}
