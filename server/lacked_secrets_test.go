package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/server"
)

// TestHealthTellsOfLackedSecrets: health warns of the deployed workflows whose secrets the server lacks. A token of a namespace sees only the
// warnings about its namespace. Each answer reads a limited number of documents, and contains the number of unread documents.
func TestHealthTellsOfLackedSecrets(t *testing.T) {
	secrets := swrun.NewSecrets(map[string]any{"shared": "s-value", "kept": "k-value", "null": nil}, nil)
	secrets.Restrict("kept", "mine")
	g := mustGuard(t, func(c *server.Config) { c.Control.Secrets = secrets })
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	mine := g.token(t, "mine", access.Grant{Role: access.RoleViewer, Namespaces: []string{"mine"}})
	deploy := func(namespace, name, use string) {
		t.Helper()
		g.now.pass(time.Second)
		document := "document: {dsl: 1.0.3, namespace: " + namespace + ", name: " + name + ", version: 1.0.0}\n" + use + "do: [{a: {set: {n: 1}}}]"
		if w := g.send("PUT", "/v1/workflows/"+namespace+"/"+name+"/1.0.0", document, "Authorization", root); w.Code/100 != 2 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	health := func(token, has, hasNot string) {
		t.Helper()
		g.now.pass(time.Second)
		w := g.send("GET", "/v1/health", "", "Authorization", token)
		if said := w.Body.String(); w.Code != 200 || !strings.Contains(said, has) || hasNot != "" && strings.Contains(said, hasNot) || strings.Contains(said, "-value") {
			t.Errorf("want %q and not %q, got %d %s", has, hasNot, w.Code, said)
		}
	}
	health(root, "have their secrets here", "SD022 warning")
	deploy("mine", "fine", "use: {secrets: [shared, kept]}\n")
	deploy("mine", "empty", "use: {secrets: []}\n")
	health(mine, "have their secrets here", "")
	deploy("other", "a", "use: {secrets: [kept, shared]}\n")
	health(root, "other/a:1.0.0 needs the secret kept, not granted to its namespace", "")
	health(mine, "have their secrets here", "other/a")
	deploy("mine", "lacks", "use: {secrets: ['null', s1, s2, s3, s4, s5, s6]}\n")
	health(mine, "mine/lacks:1.0.0 needs the secrets null, s1, s2, s3, s4 and 2 more, without a value here", "other/a")
	for n := range 250 {
		deploy("many", fmt.Sprintf("w-%d", n), "")
	}
	deploy("z", "last", "use: {secrets: [s1]}\n")
	health(root, "not looked at yet", "z/last")
	health(root, "z/last:1.0.0 needs the secret s1", "not looked at yet")
	if w := g.send("DELETE", "/v1/workflows/mine/lacks/1.0.0", "", "Authorization", root); w.Code/100 != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	health(mine, "have their secrets here", "mine/lacks")
}

// TestHealthNamesNoScheduleOfOthers: a token of a namespace sees its own overdue schedules, and not the overdue schedules of other namespaces.
func TestHealthNamesNoScheduleOfOthers(t *testing.T) {
	g := mustGuard(t, nil)
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	mine := g.token(t, "mine", access.Grant{Role: access.RoleViewer, Namespaces: []string{"mine"}})
	document := "document: {dsl: 1.0.3, namespace: other, name: late, version: 1.0.0}\nschedule: {every: PT1M}\ndo: [{a: {set: {n: 1}}}]"
	if w := g.send("PUT", "/v1/workflows/other/late/1.0.0", document, "Authorization", root); w.Code/100 != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	g.now.pass(2 * time.Hour)
	if said := g.send("GET", "/v1/health", "", "Authorization", root).Body.String(); !strings.Contains(said, "schedules are overdue: other/late") {
		t.Errorf("an administrator gets %s", said)
	}
	if said := g.send("GET", "/v1/health", "", "Authorization", mine).Body.String(); !strings.Contains(said, "no schedule is overdue") {
		t.Errorf("a token of another namespace gets %s", said)
	}
	other := g.token(t, "other", access.Grant{Role: access.RoleViewer, Namespaces: []string{"other"}})
	if said := g.send("GET", "/v1/health", "", "Authorization", other).Body.String(); !strings.Contains(said, "schedules are overdue: other/late") {
		t.Errorf("a token of the namespace gets %s", said)
	}
}

// TestQueuesTellOwnPolls: a token of a namespace sees the workers that polled for the namespace, or for all namespaces. It does not see queues that
// are only known by other polls.
func TestQueuesTellOwnPolls(t *testing.T) {
	g := mustGuard(t, nil)
	tokens := map[string]string{"root": g.token(t, "root", access.Grant{Role: access.RoleViewer, Everywhere: true})}
	for name, sees := range map[string][]string{"mine": {"mine"}, "two": {"mine", "third"}, "stranger": {"nowhere"}} {
		tokens[name] = g.token(t, name, access.Grant{Role: access.RoleViewer, Namespaces: sees})
	}
	if err := queue.NotePolls(t.Context(), g.store, map[string][]string{
		queue.PollKey("mine", "both"): {"by-mine"}, queue.PollKey("other", "both"): {"by-other"}, queue.PollKey("other", "hush"): {"by-other"},
		queue.PollKey("third", "both"): {"by-third"}, queue.PollKey("", "wide"): {"by-all"}, queue.PollKey("other", "default"): {"by-other"},
	}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"root": "both by-mine by-other by-third default hush wide by-all", "mine": "both by-mine default wide by-all",
		"two": "both by-mine by-third default wide by-all", "stranger": "default wide by-all",
	} {
		g.now.pass(time.Second)
		said := g.send("GET", "/v1/queues", "", "Authorization", tokens[name]).Body.String()
		for _, one := range []string{"both", "by-mine", "by-other", "by-third", "default", "hush", "wide", "by-all"} {
			if has := strings.Contains(said, `"`+one+`"`); has != (strings.Contains(" "+want+" ", " "+one+" ")) {
				t.Errorf("%s is told of %s: %v: %s", name, one, has, said)
			}
		}
	}
}
