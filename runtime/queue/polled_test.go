package queue_test

import (
	"testing"
	"time"

	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// TestDamagedNotesOfPolls: queues are listed although the notes of polls cannot be read, and the next poll replaces damaged notes. A note that a newer
// swrun has written stays.
func TestDamagedNotesOfPolls(t *testing.T) {
	for _, text := range []string{"rubbish", "null", `1 {"images": 7}`, `1 []`, `1 {"images": {"w": "x"}}`, `99 {"images": {}}`} {
		s := memstore.New(memstore.Config{Partitions: 1})
		for _, key := range []string{"polled", "polled-in"} {
			if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryQueues, Key: key, Value: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
		if all, err := queue.States(t.Context(), s, nil); err != nil || len(all) != 1 || time.Since(all[0].At) > time.Hour {
			t.Errorf("%q: the queues are %v %v", text, all, err)
		}
		if polled, err := queue.PolledIn(t.Context(), s, "demo"); err != nil || len(polled) != 0 {
			t.Errorf("%q: polled %v %v", text, polled, err)
		}
		newer := text[:min(2, len(text))] == "99"
		err := queue.NotePolls(t.Context(), s, map[string][]string{queue.PollKey("demo", "images"): {"w"}})
		if newer != (store.RefusedAs(err) == store.Newer) || !newer && err != nil {
			t.Errorf("%q: a poll is noted with %v", text, err)
		}
		if polled, err := queue.PolledIn(t.Context(), s, "demo"); err != nil || !newer && polled["images"].Last().IsZero() {
			t.Errorf("%q: polled %v %v after a poll", text, polled, err)
		}
	}
}
