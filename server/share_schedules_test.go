package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestFullNamespaceLeavesSchedules: an author who deploys as many schedules as possible leaves places for the authors of other namespaces. A
// workflow without a place for its schedule is not deployed.
func TestFullNamespaceLeavesSchedules(t *testing.T) {
	for name, url := range map[string]string{"memory": "memory:", "file": "file:" + filepath.Join(t.TempDir(), "runs.db"), "Redis": redistest.Start(t).URL()} {
		t.Run(name, func(t *testing.T) {
			g := mustGuardOn(t, url, nil)
			fillSchedules(t, g, "demo")
			author := g.author(t, "demo")
			const full = "the namespace demo has 10000 schedules, and a namespace has at most half of the "
			g.deploysScheduled(t, author, scheduled{"demo", "1.0.0", "schedule: {every: {hours: 1}}", 413, full})
			if w := g.send("GET", "/v1/workflows/demo/a/1.0.0", "", "Authorization", author); w.Code != 404 {
				t.Errorf("a refused workflow is there: %d %s", w.Code, w.Body)
			}
			if w := g.send("POST", "/v1/runs", `{"workflow": "demo/a"}`, "Authorization", author); w.Code != 404 {
				t.Errorf("a refused workflow starts: %d %s", w.Code, w.Body)
			}
			g.deploysScheduled(t, g.author(t, "work"), scheduled{"work", "1.0.0", "schedule: {every: {hours: 1}}", 201, ""})
			g.deploysScheduled(t, author, scheduled{"demo", "2.0.0", "", 201, ""})
			g.deploysScheduled(t, author, scheduled{"demo", "2.1.0", "schedule: {every: {hours: 1}}", 413, full})
			g.deploysScheduled(t, author, scheduled{"demo", "1.0.0", "schedule: {every: {hours: 1}}", 201, ""}) // another version is the latest
			for _, key := range []string{"demo/x1", "demo/x2"} {
				if err := g.store.Unregister(t.Context(), store.RegistrySchedules, key, store.AnyVersion); err != nil {
					t.Fatal(err)
				}
			}
			g.deploysScheduled(t, author, scheduled{"demo", "2.1.0", "schedule: {every: {hours: 1}}", 201, ""})
			if w := g.send("GET", "/v1/schedules/demo/a", "", "Authorization", author); w.Code != 200 || !strings.Contains(w.Body.String(), `"version":"2.1.0"`) {
				t.Errorf("the schedule is %d %s", w.Code, w.Body)
			}
		})
	}
}

// fillSchedules registers as many schedules as a namespace has.
func fillSchedules(t *testing.T, g *guarded, namespace string) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(64)
	for n := range store.MaxRegistered {
		all.Go(func() error {
			_, err := g.store.Register(t.Context(), store.Registration{Kind: store.RegistrySchedules, Key: fmt.Sprint(namespace, "/x", n), Value: []byte("1 {}")})
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// author returns the token of an author of a namespace.
func (g *guarded) author(t *testing.T, namespace string) string {
	t.Helper()
	return g.token(t, namespace, access.Grant{Role: access.RoleAuthor, Namespaces: []string{namespace}})
}

// scheduled is a version of the workflow a, the status of its deployment, and a text in the answer.
type scheduled struct {
	namespace, version, schedule string
	status                       int
	want                         string
}

// deploysScheduled deploys a version, and checks the answer.
func (g *guarded) deploysScheduled(t *testing.T, author string, c scheduled) {
	t.Helper()
	document := "document: {dsl: 1.0.3, namespace: " + c.namespace + ", name: a, version: " + c.version + "}\n" + c.schedule + "\ndo: [{a: {set: {b: 1}}}]"
	w := g.send("PUT", "/v1/workflows/"+c.namespace+"/a/"+c.version, document, "Authorization", author)
	if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
		t.Errorf("%s:%s: %d %s; want %d %s", c.namespace, c.version, w.Code, w.Body, c.status, c.want)
	}
}
