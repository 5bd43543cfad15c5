package runtime_test

import (
	"context"
	"slices"
	"testing"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// unlisted is a store that cannot be listed, as if a list never ended.
type unlisted struct{ store.Store }

func (unlisted) List(context.Context, int, string, int) (store.Page, error) {
	panic("the store is listed")
}

// TestFindByID: a run is found by its whole id without looking at any other, in whatever namespace it is, deployed or
// not, and a child too.
func TestFindByID(t *testing.T) {
	h := newHost(t)
	child := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: other, name: a, version: 0.1.0}\ndo: [{a: {set: {x: 1}}}]"}
	if _, err := h.client.StartDefinition(t.Context(), child, nil, client.StartOptions{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	h.deploy("leaf", "do: [{a: {set: {x: 1}}}]")
	defer h.work(worker.Config{})()
	parent := h.start("do: [{a: {run: {workflow: {namespace: test, name: leaf, version: latest}}}}]", client.StartOptions{ID: "x"})
	h.wait(parent)
	finder := client.New(client.Config{Store: unlisted{h.store}})
	for name, c := range map[string]struct {
		among []string
		want  []store.Instance
	}{
		"x":                {nil, []store.Instance{{Namespace: "other", ID: "x"}, {Namespace: "test", ID: "x"}}},
		"test/x":           {nil, []store.Instance{{Namespace: "test", ID: "x"}}},
		h.child(parent).ID: {[]string{"test"}, []store.Instance{h.child(parent)}},
		"other/x":          {[]string{"test"}, nil},
	} {
		exact, begun, err := finder.Find(t.Context(), name, c.among...)
		if err != nil || !slices.Equal(exact, c.want) || begun != nil {
			t.Errorf("%s: found %v and %v: %v", name, exact, begun, err)
		}
	}
	if _, begun, err := h.client.Find(t.Context(), h.child(parent).ID[:4]); err != nil || len(begun) != 1 {
		t.Errorf("by its beginning: %v, %v", begun, err)
	}
}
