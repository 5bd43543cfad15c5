package main

import (
	"path/filepath"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/deadletter"
)

// TestRetriedDeadMessagesAreTaken: a dead message that can be published now is published by swrun events dead retry, and is not listed any more.
func TestRetriedDeadMessagesAreTaken(t *testing.T) {
	for name, target := range targetsOfServer() {
		t.Run(name, func(t *testing.T) {
			h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
			s, err := swrun.OpenStore(t.Context(), h.url, swrun.StoreConfig{})
			if err != nil {
				t.Fatal(err)
			}
			event := cloudevent.Message{ContentType: "application/cloudevents+json", Body: []byte(`{"specversion":"1.0","id":"1","source":"/s","type":"paid","data":1}`)}
			if err := deadletter.Keep(t.Context(), s, deadletter.Message{Source: "orders", Kind: "redis", Place: "1-0", Why: "the store was full", Message: event}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d := &deadMessages{h, target(h, h.serve()), nil}
			id := d.listed(1)[0].ID
			if out, _ := d.says(exitOK, "retry", "orders"); out != id+" published\n" {
				t.Errorf("retry prints %q", out)
			}
			d.listed(0)
			d.says(exitNotFound, "retry", id)
		})
	}
}
