package sinks_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/runtime/store"
)

// deadLetters are the dead letters of the sink, each with its mark for another delivery.
func (d *deployment) deadLetters() string {
	d.t.Helper()
	all, err := d.Sinks(d.t.Context(), nil)
	must(d.t, err)
	if len(all) != 1 || all[0].Name != "a" || all[0].Kind != "http" {
		d.t.Fatalf("the sinks are %+v", all)
	}
	var letters []string
	for _, l := range all[0].DeadLetters {
		letters = append(letters, fmt.Sprintf("%s %s %t", l.ID, l.Type, l.Retry))
	}
	return strings.Join(letters, ", ")
}

// TestDeadLetters: an event that a sink has refused is listed, sent again on request, or dropped.
func TestDeadLetters(t *testing.T) {
	d, got := newDeployment(t, ""), &received{}
	var refuses atomic.Bool
	refuses.Store(true)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		body, _ := io.ReadAll(r.Body)
		got.add(t, body)
	}))
	defer hook.Close()
	s, stop := d.run(eventfile.Sink{Kind: "http", URL: hook.URL, Types: []string{"order.", "io.serverlessworkflow.workflow.completed"}}, nil)
	holds(t, s)
	run := d.startDocument(fmt.Sprintf(emits, "demo"), "one")
	other := d.startDocument(fmt.Sprintf(emits, "other"), "two")
	waitFor(t, "the dead letters", func() bool { return strings.Count(d.deadLetters(), "false") == 6 })
	all := d.deadLetters()
	for _, want := range []string{"demo/one-3e order.paid", "demo/one-6e order.sent", "other/two-3e order.paid", "io.serverlessworkflow.workflow.completed.v1"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not among %s", want, all)
		}
	}
	if _, err := d.RetryDeadLetters(t.Context(), &api.SinkCommand{Name: "a", Body: &api.DeadLetterChoice{IDs: []string{"demo/one-3e", "demo/none-1"}}}); store.RefusedAs(err) != store.NoSuch || d.deadLetters() != all {
		t.Errorf("of one that is none: %v", err)
	}
	for _, change := range []func() (api.Sink, error){
		func() (api.Sink, error) {
			return d.RetryDeadLetters(t.Context(), &api.SinkCommand{Name: "b", Body: &api.DeadLetterChoice{}})
		},
		func() (api.Sink, error) {
			return d.DropDeadLetters(t.Context(), &api.SinkCommand{Name: "", Body: &api.DeadLetterChoice{}})
		},
	} {
		if _, err := change(); err == nil {
			t.Error("of no sink: no error")
		}
	}

	// After another refusal, it stays.
	_, err := d.RetryDeadLetters(t.Context(), &api.SinkCommand{Name: "a", Body: &api.DeadLetterChoice{IDs: []string{"demo/one-3e"}}})
	must(t, err)
	failed := s.States()[0].Failed
	waitFor(t, "the refusal", func() bool { return s.States()[0].Failed > failed && !strings.Contains(d.deadLetters(), "true") })

	// An accepted letter is deleted. A sink without a sender keeps the requests.
	stop()
	refuses.Store(false)
	_, err = d.RetryDeadLetters(t.Context(), &api.SinkCommand{Name: "a", Body: &api.DeadLetterChoice{IDs: []string{"demo/one-3e", "demo/one-6e"}}})
	must(t, err)
	s, _ = d.run(eventfile.Sink{Kind: "http", URL: hook.URL, Types: []string{"none."}}, nil)
	waitFor(t, "the two", func() bool {
		return got.of("one") == "order.paid order.sent" && strings.Count(d.deadLetters(), "false") == 4
	})
	_, err = d.DropDeadLetters(t.Context(), &api.SinkCommand{Name: "a", Body: &api.DeadLetterChoice{IDs: []string{"other/two-6e"}}})
	must(t, err)

	// A letter of a deleted run stays, with this reason, even if another run has its id.
	must(t, other.Delete(t.Context()))
	d.startDocument(fmt.Sprintf(emits, "other"), "two")
	_, err = d.RetryDeadLetters(t.Context(), &api.SinkCommand{Name: "a", Body: &api.DeadLetterChoice{}})
	must(t, err)
	waitFor(t, "the rest", func() bool {
		return d.deadLetters() == "other/two-3e order.paid false, "+strings.TrimPrefix(d.deadLetters(), "other/two-3e order.paid false, ") && strings.Count(d.deadLetters(), "two") == 2 && !strings.Contains(d.deadLetters(), "true") && !strings.Contains(d.deadLetters(), "one")
	})
	sink, err := d.DropDeadLetters(t.Context(), &api.SinkCommand{Name: "a", Body: &api.DeadLetterChoice{}})
	if err != nil || len(sink.DeadLetters) > 0 {
		t.Errorf("%v: %+v", err, sink)
	}
	if f := sinks.Examine(t.Context(), d.registry); len(f) > 0 || s.Findings()[0].Level != doctor.OK {
		t.Errorf("%+v, %+v", f, s.Findings())
	}
	must(t, run.Delete(t.Context()))
}

// TestAllRefused: the last dead letters of a sink that refuses everything are kept, and its position moves.
func TestAllRefused(t *testing.T) {
	d := newDeployment(t, "")
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer hook.Close()
	to := eventfile.Sink{Kind: "http", URL: hook.URL}
	s, stop := d.run(to, nil)
	holds(t, s)
	for n := range 30 { // eight events each
		d.start(fmt.Sprintf("run%d", n))
	}
	waitFor(t, "all dead letters", func() bool { return s.States()[0].DeadLetters == 240 && strings.Count(d.deadLetters(), "false") == 200 })
	stop()
	again, _ := d.run(to, nil)
	holds(t, again)
	waitFor(t, "the dead letters, after a restart", func() bool { return len(again.States()[0].Last) == 200 })
}

// TestDeadLettersOfNamespaces: a namespace with many dead letters pushes out no letter of a namespace with fewer.
func TestDeadLettersOfNamespaces(t *testing.T) {
	d := newDeployment(t, "")
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer hook.Close()
	s, _ := d.run(eventfile.Sink{Kind: "http", URL: hook.URL, Types: []string{"order."}}, nil)
	holds(t, s)
	d.startDocument(fmt.Sprintf(emits, "small"), "first") // two events each
	waitFor(t, "the first dead letters", func() bool { return strings.Count(d.deadLetters(), "small/first-") == 2 })
	d.startDocument(fmt.Sprintf(emits, "flood"), "first")
	waitFor(t, "the first of the flood", func() bool { return strings.Count(d.deadLetters(), "flood/first-") == 2 })
	for n := range 105 {
		d.startDocument(fmt.Sprintf(emits, "flood"), fmt.Sprintf("run%d", n))
	}
	kept := func() string {
		all := d.deadLetters()
		return fmt.Sprint(strings.Count(all, "small/first-"), strings.Count(all, "flood/run"), strings.Count(all, "flood/first-"), strings.Count(all, "second/"))
	}
	waitFor(t, "the flood", func() bool { return s.States()[0].DeadLetters == 214 && kept() == "2 198 0 0" })
	for n := range 60 {
		d.startDocument(fmt.Sprintf(emits, "second"), fmt.Sprintf("run%d", n))
	}
	waitFor(t, "a second flood", func() bool { return s.States()[0].DeadLetters == 334 && kept() == "2 99 0 99" })
}

// TestManyRuns: events of several runs are sent concurrently, and the events of each run in their order.
func TestManyRuns(t *testing.T) {
	d, got := newDeployment(t, ""), &received{}
	var mu sync.Mutex
	inHand, most := 0, 0
	second := make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		if inHand++; inHand == 2 && most < 2 {
			close(second)
		}
		most = max(most, inHand)
		mu.Unlock()
		select {
		case <-second: // no request is answered before there are two
			got.add(t, body)
		case <-r.Context().Done():
		}
		mu.Lock()
		inHand--
		mu.Unlock()
	}))
	defer hook.Close()
	stopped, stop := d.run(eventfile.Sink{Kind: "http", URL: hook.URL}, nil)
	holds(t, stopped)
	stop()
	var runs []*swrun.Run
	for n := range 40 {
		runs = append(runs, d.startDocument(document, fmt.Sprintf("run%d", n)))
	}
	for _, run := range runs { // their events wait together
		_, err := run.Await(t.Context())
		must(t, err)
	}
	d.run(eventfile.Sink{Kind: "http", URL: hook.URL}, nil)
	for n := range 40 {
		waitFor(t, "a run", func() bool { return got.of(fmt.Sprintf("run%d", n)) == expected })
	}
}
