package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/store"
)

// TestFullNamespaceLeavesSchedules: an author who deploys as many schedules as possible leaves places for the authors of other namespaces.
func TestFullNamespaceLeavesSchedules(t *testing.T) {
	g := mustGuard(t, nil)
	for n := range store.MaxRegistered {
		if _, err := g.store.Register(t.Context(), store.Registration{Kind: store.RegistrySchedules, Key: fmt.Sprint("demo/x", n), Value: []byte("1 {}")}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		namespace string
		status    int
		want      string
	}{
		{"demo", 413, "the namespace demo has 10000 schedules, and a namespace has at most half of the 19999 places that the others leave. Remove workflows with schedules that are no longer needed"},
		{"work", 201, ""},
	} {
		author := g.token(t, c.namespace, access.Grant{Role: access.RoleAuthor, Namespaces: []string{c.namespace}})
		document := "document: {dsl: 1.0.3, namespace: " + c.namespace + ", name: a, version: 1.0.0}\nschedule: {every: {hours: 1}}\ndo: [{a: {set: {b: 1}}}]"
		w := g.send("PUT", "/v1/workflows/"+c.namespace+"/a/1.0.0", document, "Authorization", author)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s; want %d %s", c.namespace, w.Code, w.Body, c.status, c.want)
		}
	}
}
