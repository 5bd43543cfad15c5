package server_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// readsWith are further queries for operations that read.
func readsWith() map[string][]string {
	return map[string][]string{
		"listRuns": {"summary=true", "where=waiting=worker", "where=status=faulted", "order=oldest"}, "countRuns": {"by=namespace", "by=workflow", "by=status", "by=trouble", "where=waiting=*"},
		"findRuns": {"name=h", "name=run"}, "listDeadlines": {"within=2h", "within=2h&limit=1"}, "listTrouble": {"all=true"}, "listUnmatchedEvents": {"limit=100", "type=nobody"},
		"listListeners": {"limit=100", "type=t"}, "listDeadMessages": {"limit=100"}, "listWorkflows": {"limit=100"}, "listSchedules": {"limit=100"},
	}
}

// TestAnotherNamespaceChangesNoAnswer requests everything that a token of one namespace may read, before another namespace contains anything and
// after it is full, and compares the answers.
func TestAnotherNamespaceChangesNoAnswer(t *testing.T) {
	g := mustGuard(t, nil)
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	mine := g.token(t, "mine", access.Grant{Role: access.RoleAdmin, Namespaces: []string{"mine"}})
	g.full(t, "mine", root)
	every := presence.Worker{Name: "all", Queues: []string{presence.AllQueues}, Concurrency: 8, Version: "1"}
	g.now.pass(time.Minute) // so that all late objects are late by more than the tolerance of doctor
	g.attends(t, every)
	before := g.readsAll(t, root, mine)
	g.full(t, "hush", root)
	every.Load = presence.Load{Held: 1, Performing: 1, PerQueue: map[string]int{"hush-performed": 1}}
	g.now.pass(time.Minute)
	g.attends(t, every)
	g.attends(t, presence.Worker{Name: "hush", Runs: []store.Instance{{Namespace: "hush", ID: "own"}}, Queues: []string{presence.AllQueues}, Concurrency: 1, Version: "1"})
	after := g.readsAll(t, root, mine)
	for path, was := range before {
		if strings.Contains(after[path], "hush") {
			t.Errorf("%s tells of the other namespace: %s", path, after[path])
		}
		if is := after[path]; is != was && !strings.Contains(path, "/timeline") { // its drawing covers the duration of the run
			t.Errorf("%s was answered with\n%s\nand is now, since another namespace has more,\n%s", path, was, is)
		}
	}
	for _, path := range []string{"/v1/queues", "/v1/health", "/metrics"} {
		if said := g.send("GET", path, "", "Authorization", root).Body.String(); !strings.Contains(said, "hush") {
			t.Errorf("%s tells a token of all namespaces nothing of the other one: %s", path, said)
		}
	}
	if w := g.send("GET", "/metrics", "", "Authorization", mine); w.Code != 403 || !strings.Contains(w.Body.String(), "--all-namespaces") {
		t.Errorf("/metrics as a token of one namespace: %d %s", w.Code, w.Body)
	}
}

// attends announces a worker until the test ends.
func (g *guarded) attends(t *testing.T, w presence.Worker) {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() {
		defer close(left)
		(&presence.Announcer{Store: g.store, Worker: w, Load: func() presence.Load { return w.Load }, Failed: func(error) {}}).Run(ctx, nil)
	}()
	t.Cleanup(func() { leave(); <-left })
	now := g.now.now()
	eventually(t, "the worker is there", func() bool {
		all, err := g.store.Workers(t.Context())
		return err != nil || slices.ContainsFunc(all, func(one presence.Worker) bool {
			return one.Name == w.Name && !one.Seen.Before(now.Truncate(time.Second))
		})
	})
}

// full fills a namespace with objects of every kind.
func (g *guarded) full(t *testing.T, namespace, root string) {
	t.Helper()
	g.fills(t, namespace, root)
	ctx := t.Context()
	if err := queue.NotePolls(ctx, g.store, map[string][]string{queue.PollKey(namespace, namespace+"-polled"): {namespace + "-poller"}}); err != nil {
		t.Fatal(err)
	}
	g.keepDead(t, "from-"+namespace, namespace)
	letters, err := store.EncodeEntry(store.RegistrySinks, []sinks.DeadLetter{{ID: namespace + "/1", Run: namespace + "/own", Type: namespace, Why: namespace}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.store.Register(ctx, store.Registration{Kind: store.RegistrySinks, Key: "to-" + namespace + "/dead-letters", Value: letters, Version: store.AnyVersion}); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Change(ctx, g.store, settings.Scope(namespace), func(s *settings.Settings) error { s.Events = settings.EventsOwn; return nil }, nil); err != nil {
		t.Fatal(err)
	}
}

// fills fills a namespace with runs, schedules, events and listeners.
func (g *guarded) fills(t *testing.T, namespace, root string) {
	t.Helper()
	defer working(t, g.engine)()
	g.now.run()
	g.deployActivity(t, namespace, root)
	g.troubled(t, namespace, root)
	for name, tasks := range map[string]string{
		"queued": "do: [{a: {call: 'activity:1.0.0@default', with: {type: x, queue: " + namespace + "-waits}}}]",
		"listed": "do: [{a: {listen: {to: {one: {with: {type: " + namespace + "}}}}}}]",
		"needs":  "do: [{a: {run: {shell: {command: 'true'}}, metadata: {swrun: {queue: " + namespace + "-needs}}}}]",
		"timed":  "schedule: {every: {hours: 1}}\ndo: [{a: {wait: {hours: 2}}}]",
		"tried":  "do: [{a: {try: [{b: {raise: {error: {type: 'https://example.com/" + namespace + "', status: 503}}}}], catch: {retry: {delay: {hours: 1}}}}}]",
	} {
		text := fmt.Sprintf("document: {dsl: 1.0.3, namespace: %s, name: %s, version: 1.0.0}\n%s", namespace, name, tasks)
		if w := g.send("PUT", "/v1/workflows/"+namespace+"/"+name+"/1.0.0", text, "Authorization", root); w.Code/100 != 2 {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		body := fmt.Sprintf(`{"workflow": "%s/%s", "id": "%s", "executionTimeout": "1h", "businessKey": "%[1]s", "labels": {"of": "%[1]s"}}`, namespace, name, name)
		if w := g.send("POST", "/v1/runs", body, "Authorization", root); w.Code != 201 {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := g.send("POST", "/v1/runs", `{"workflow": "`+namespace+`/a", "id": "own"}`, "Authorization", root); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	eventually(t, "the runs wait", func() bool {
		g.now.pass(time.Second)
		said := g.send("GET", "/v1/runs?namespace="+namespace+"&limit=100", "", "Authorization", root).Body.String()
		return strings.Count(said, `"status":"waiting"`) == 5 && !strings.Contains(said, `"status":"pending"`)
	})
}

// passing matches the parts of an answer that change with time, including the sum of an exported run, whose description contains times.
var passing = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|"\w*[sS]econds":[0-9.e+-]+|\b([0-9][0-9.]*(ms|µs|s|m|h|d))+\b|"(nextCursor|cursor)":"[^"]*"|"run":"[0-9a-f]{64}"`)

// readsAll returns the answers of every operation that reads, by path.
func (g *guarded) readsAll(t *testing.T, root, caller string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range g.operations(t, root) {
		if o.method != "GET" || strings.HasSuffix(o.path, "/events") && strings.Contains(o.path, "/runs/") {
			continue
		}
		path := strings.NewReplacer("{namespace}", "mine", "{workflow}", "a", "{version}", "1.0.0", "{code}", "SW101").Replace(o.path)
		for _, id := range []string{"own", "fails", "timed"} {
			one := strings.NewReplacer("{id}", id, "{name}", "a", "{run}", id).Replace(path)
			for _, with := range append(readsWith()[o.ID], "") {
				g.now.pass(100 * time.Millisecond)
				asked := one + "?" + with
				w := g.send("GET", asked, "", "Authorization", caller)
				all[asked] = fmt.Sprint(w.Code, " ", passing.ReplaceAllString(w.Body.String(), "T"))
			}
		}
	}
	return all
}
