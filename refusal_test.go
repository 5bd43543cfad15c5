package swrun_test

import (
	"context"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/runtime/client"
)

// TestRefusals: a refusal of a store is a sentence about the run.
func TestRefusals(t *testing.T) {
	for _, at := range []string{"memory:", "file:" + t.TempDir() + "/runs.db"} {
		engine := mustEngine(t, at, swrun.EngineConfig{})
		d := mustParse(t, "do: [{a: {set: {b: 1}}}]\n")
		pending, err := engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{ID: "one"})
		if err != nil {
			t.Fatal(err)
		}
		ended, err := engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{ID: "ended"})
		if err != nil {
			t.Fatal(err)
		}
		if err := ended.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if err := engine.Settle(t.Context(), ended); err != nil {
			t.Fatal(err)
		}
		missing := engine.Run("demo", "two")
		none := func(client.HistoryEntry) error { return nil }
		for _, c := range []struct {
			name, want string
			err        error
		}{
			{"await a run that is not there", "there is no run demo/two", second(missing.Await(t.Context()))},
			{"describe a run that is not there", "there is no run demo/two", second(missing.Describe(t.Context()))},
			{"read the history of a run that is not there", "there is no run demo/two", missing.History(t.Context(), none)},
			{"cancel a run that is not there", "there is no run demo/two", missing.Cancel(t.Context(), "")},
			{"retry a run that is not there", "there is no run demo/two", missing.Retry(t.Context(), "")},
			{"delete a run that is not there", "there is no run demo/two", missing.Delete(t.Context())},
			{"delete a run that has not ended", "run demo/one is pending: cancel it first", pending.Delete(t.Context())},
			{"retry a run that is not quarantined", "run demo/one is not quarantined", pending.Retry(t.Context(), "")},
			{"resume a run that is not suspended", "", pending.Resume(t.Context(), "")},
			{"cancel a run that has ended", "run demo/ended has ended", ended.Cancel(t.Context(), "")},
			{"fork a run that has not failed", "run demo/one is pending, and has not failed at any task", second(pending.Fork(t.Context(), client.ForkOptions{}))},
			{"retry a run that was cancelled before it began", "", ended.Retry(t.Context(), "")},
			{"start a workflow that is not deployed", "the workflow demo/none is not deployed", second(engine.Start(t.Context(), "demo/none", nil, swrun.StartOptions{}))},
		} {
			got := ""
			if c.err != nil {
				got = c.err.Error()
			}
			if got != c.want {
				t.Errorf("%s, %s: %q, want %q", at, c.name, got, c.want)
			}
		}
	}
}

// TestLongNames: an impossibly long name is refused with a short message.
func TestLongNames(t *testing.T) {
	engine := mustEngine(t, "memory:", swrun.EngineConfig{})
	long := strings.Repeat("x", 1<<20)
	for name, err := range map[string]error{
		"a run":               second(engine.Run("demo", long).Await(t.Context())),
		"a namespace":         engine.Run(long, "x").Retry(t.Context(), ""),
		"a workflow":          second(engine.Start(t.Context(), "demo/"+long, nil, swrun.StartOptions{})),
		"not a workflow":      second(engine.Start(t.Context(), long, nil, swrun.StartOptions{})),
		"a control character": second(engine.Start(t.Context(), "demo/\x00", nil, swrun.StartOptions{})),
	} {
		if err == nil || len(err.Error()) > 1000 || strings.ContainsRune(err.Error(), 0) {
			t.Errorf("%s: %.100v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// mustEngine returns an engine on a store, which is closed when the test ends.
func mustEngine(t *testing.T, at string, c swrun.EngineConfig) *swrun.Engine {
	t.Helper()
	s, err := swrun.OpenStore(context.Background(), at, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	engine, err := swrun.NewEngine(s, c)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}
