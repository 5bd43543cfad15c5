package runtime_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// TestParentsNameTheRunThatTheyWaitFor, which is there.
func TestParentsNameTheRunThatTheyWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.deploy("child", "do: [{a: {wait: PT1H}}]")
		defer h.work(worker.Config{})()
		i := h.start("do: [{r: {run: {workflow: {namespace: test, name: child, version: latest}}}}]", client.StartOptions{ID: "p"})
		time.Sleep(5 * time.Second)
		why := h.described(i, false).Why
		_, rest, _ := strings.Cut(why, "waiting for the run test/")
		id, _, _ := strings.Cut(rest, " ")
		if d := h.described(store.Instance{Namespace: "test", ID: id}, false); d.Invocation.Parent == nil || d.Invocation.Parent.Instance != i {
			t.Errorf("it is described so: %q", why)
		}
	})
}
