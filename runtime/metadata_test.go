package runtime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/worker"
)

// TestMetadata is promises 70 and 71: metadata of a start is not part of the input, but expressions can read it, also after another owner
// took the run over.
func TestMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		i := h.start(`do: [{a: {set: {of: "${ $runtime.metadata }", input: "${ $workflow.input }"}}}, {b: {wait: PT1H}}, {c: {set: "${ . + {again: $runtime.metadata} }"}}]`,
			client.StartOptions{ID: "order-7", BusinessKey: "7", Labels: map[string]string{"tenant": "acme"}})
		time.Sleep(time.Second)
		stop()
		defer h.work(worker.Config{})()
		metadata := map[string]any{
			"namespace": "test", "executionId": "order-7", "runNumber": 1, "businessKey": "7", "labels": map[string]any{"tenant": "acme"},
		}
		want := map[string]any{"of": metadata, "input": map[string]any{}, "again": metadata}
		if diff := cmp.Diff(want, h.wait(i).Output); diff != "" {
			t.Error(diff)
		}
	})
}
