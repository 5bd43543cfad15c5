package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestAcknowledgedGroupsMakeRoom: a namespace keeps 500 acknowledged groups. One more has a group without runs in trouble forgotten, of this namespace alone.
func TestAcknowledgedGroupsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		i := h.start("do: [{a: {raise: {error: {type: 'https://example.com/no', status: 400}}}}]", client.StartOptions{})
		defer h.work(worker.Config{})()
		h.wait(i)
		acknowledge := func(namespace string, n int) {
			g := filter.TroubleGroup{Trouble: fmt.Sprint("old-", n), Workflow: namespace + "/gone:1.0.0", Task: "/do/0/a"}
			e := store.RegistryEntry[filter.Acknowledgement]{Kind: store.RegistryAcknowledged, Key: namespace + "/" + g.Key()}
			keep := func(a *filter.Acknowledgement) error { a.Group = g; return nil }
			if _, err := e.Change(t.Context(), h.store, keep, func(*filter.Acknowledgement) bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 500 {
			acknowledge(i.Namespace, n)
			acknowledge("other", n)
		}
		groups, _, err := h.client.Trouble(t.Context(), filter.Filter{}, nil)
		if err != nil || len(groups) != 1001 || groups[0].Runs != 1 {
			t.Fatalf("%d groups: %v", len(groups), err)
		}
		if _, err := h.client.Acknowledge(t.Context(), []string{groups[0].Key()}, []string{i.Namespace}, filter.Acknowledgement{Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
		all, err := h.store.ListRegistered(t.Context(), store.RegistryList{Kind: store.RegistryAcknowledged})
		ours, theirs, isNew := 0, 0, false
		for _, r := range all {
			if strings.HasPrefix(r.Key, "other/") {
				theirs++
			} else {
				ours++
			}
			isNew = isNew || r.Key == i.Namespace+"/"+groups[0].Key()
		}
		if err != nil || ours != 500 || theirs != 500 || !isNew {
			t.Errorf("%d groups and %d of the other namespace are acknowledged, the new one: %t: %v", ours, theirs, isNew, err)
		}
	})
}
