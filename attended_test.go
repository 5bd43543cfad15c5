package swrun_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/swrun/swrun"
)

// TestEngineOfThisProcessIsAWorker: the engines of this process are the only workers of a store that only this process uses.
func TestEngineOfThisProcessIsAWorker(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := engine.StartDocument(t.Context(), mustParse(t, "do: [{a: {wait: PT1H}}]\n"), nil, swrun.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	describe := func() (why string, noWorker bool) {
		t.Helper()
		d, err := engine.Client().Describe(t.Context(), run.Instance)
		if err != nil {
			t.Fatal(err)
		}
		return d.Why, d.NoWorker
	}
	if why, none := describe(); !none || !strings.HasSuffix(why, "No worker is there to go on with it.") {
		t.Errorf("before it works: %q, no worker %t", why, none)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- engine.Work(ctx) }()
	for working := 0; working == 0; {
		all, _ := s.Workers(ctx)
		working = len(all)
		runtime.Gosched()
	}
	if why, none := describe(); none || strings.Contains(why, "No worker") {
		t.Errorf("while it works: %q, no worker %t", why, none)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if why, none := describe(); !none || strings.Contains(why, "Nothing else") {
		t.Errorf("after it has worked: %q, no worker %t", why, none)
	}
}
