package swrun_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/limits"
)

// TestEventsThatWait: the number of events that wait for an unattended run is limited. Further events do not reach the run, and their publisher gets
// an error.
func TestEventsThatWait(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := swrun.NewEngine(s, swrun.EngineConfig{Host: swrun.Host{Limits: limits.Set{limits.Waiting: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: demo, name: a, version: 1.0.0}\ndo: [{l: {listen: {to: {any: [{with: {type: go}}], until: length == 4}}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := e.StartDocument(t.Context(), d, nil, swrun.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	publish := func() (matched, full int) {
		n++
		report, err := e.Publish(t.Context(), map[string]any{"specversion": "1.0", "type": "go", "source": "/s", "id": fmt.Sprint(n)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(report.Matched), len(report.Full)
	}
	work := func(meanwhile func()) {
		ctx, stop := context.WithCancel(t.Context())
		worked := make(chan error, 1)
		go func() { worked <- e.Work(ctx) }()
		meanwhile()
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	}
	work(func() {
		for matched := 0; matched == 0; matched, _ = publish() {
			time.Sleep(time.Millisecond)
		}
	})
	for k := range 5 {
		if matched, full := publish(); matched+full != 1 || k < 2 && full > 0 || k > 2 && matched > 0 {
			t.Errorf("event %d comes to %d runs, and not to %d", k, matched, full)
		}
	}
	work(func() {
		for ended := false; !ended; publish() {
			within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			result, err := run.Await(within)
			cancel()
			if ended = err == nil; ended && len(result.Output.([]any)) != 4 {
				t.Errorf("the run ends with %v", result.Output)
			}
		}
	})
}
