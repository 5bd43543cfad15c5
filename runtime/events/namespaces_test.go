package events_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/store"
)

// countingStore counts queries by events.
type countingStore struct {
	store.Store
	bus                        *events.Bus
	filters, groups, questions int
	runs                       int // that were found
}

func (s *countingStore) Listeners(ctx context.Context, c store.Listening) (store.Listeners, error) {
	found, err := s.Store.Listeners(ctx, c)
	s.questions++
	s.filters, s.groups = s.filters+len(c.Filters), s.groups+len(found.From)
	for _, some := range found.Runs {
		s.runs += len(some.Runs)
	}
	return found, err
}

// listen starts a run that listens for events of the type paid whose expressions yield "1". Without marks it is as an older build has written it.
func (s *countingStore) listen(t *testing.T, i store.Instance, marks bool, from string) {
	t.Helper()
	if _, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), store.Claim{Partition: i.Partition(4), Instances: []store.Instance{i}, Worker: "w", Nonce: i.String(), Lease: time.Hour})
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	c := store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusWaiting, Release: true}
	namespace := ""
	if marks {
		namespace = i.Namespace
	}
	filter := interpreter.EventFilter{Type: "paid", From: from}
	if from != "" {
		filter.Key = interpreter.EventKey([]any{"1"})
	}
	c.Listens = store.NewListens(namespace, []interpreter.EventFilter{filter})
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// publish publishes an event and checks the number of receiving runs, and of queries.
func (s *countingStore) publish(t *testing.T, to events.Audience, id string, runs, most int) {
	t.Helper()
	s.filters, s.groups, s.questions, s.runs = 0, 0, 0, 0
	data := map[string]any{"n": "1"}
	for n := range 1500 {
		data[fmt.Sprint("k", n)] = "1"
	}
	event := map[string]any{"specversion": "1.0", "type": "paid", "source": "test", "id": id, "data": data}
	report, err := s.bus.Publish(t.Context(), event, to)
	if err != nil || len(report.Matched) != runs {
		t.Errorf("%d runs have the event %s for %q, %v; want %d", len(report.Matched), id, to, err, runs)
	}
	if s.filters > most || s.groups > most {
		t.Errorf("the event %s for %q asked for %d filters and found %d groups in %d questions, want at most %d", id, to, s.filters, s.groups, s.questions, most)
	}
}

// TestExpressionsOfOtherNamespaces: an event of a namespace does not ask for the 1 500 expressions of another one, and an event for all namespaces asks
// once for an expression that 100 of them have.
func TestExpressionsOfOtherNamespaces(t *testing.T) {
	s := &countingStore{Store: memstore.New(memstore.Config{Partitions: 4})}
	nobody := func(context.Context, events.Event, events.Audience) (events.Started, error) {
		return events.Started{}, nil
	}
	s.bus = events.NewBus(s, nobody, limits.Set{})
	s.listen(t, store.Instance{Namespace: "bb", ID: "run"}, true, `[".data.n"]`)
	for n := range 1500 {
		s.listen(t, store.Instance{Namespace: "aa", ID: fmt.Sprint("run-", n)}, true, fmt.Sprintf(`[".data.k%d"]`, n))
	}
	for _, id := range []string{"first", "second"} {
		s.publish(t, events.Audience{"bb"}, "bb-"+id, 1, 5)
	}
	s.listen(t, store.Instance{Namespace: "cc", ID: "older"}, false, `[".data.n"]`)
	s.listen(t, store.Instance{Namespace: "bb", ID: "older"}, false, `[".data.n"]`)
	s.publish(t, events.Audience{"bb"}, "bb-third", 2, 10)
	s.publish(t, events.Audience{"aa"}, "aa", 1500, 10_000)
	s.publish(t, events.Audience{"bb"}, "bb-fourth", 2, 10)
	s.publish(t, nil, "all", 1503, 10_000)
	s.publish(t, events.Audience{}, "none", 0, 10)
}

// TestOneExpressionInManyNamespaces: an event for all namespaces asks once for an expression, in however many of them it is.
func TestOneExpressionInManyNamespaces(t *testing.T) {
	s := &countingStore{Store: memstore.New(memstore.Config{Partitions: 4})}
	nobody := func(context.Context, events.Event, events.Audience) (events.Started, error) {
		return events.Started{}, nil
	}
	s.bus = events.NewBus(s, nobody, limits.Set{})
	for n := range 100 {
		s.listen(t, store.Instance{Namespace: fmt.Sprint("n", n), ID: "run"}, true, `[".data.n"]`)
	}
	for _, id := range []string{"first", "second"} {
		s.publish(t, nil, id, 100, 5)
	}
}

// TestAudiencesOfManyNamespaces: an event reaches the runs of each namespace of its audience and of no other one, whether they are few enough to ask apart or
// not, and whether the expressions are short enough for a mark or not.
func TestAudiencesOfManyNamespaces(t *testing.T) {
	for name, from := range map[string]string{"short": `[".data.n"]`, "long": `[".data.n` + strings.Repeat(" ", 40<<10) + `"]`} {
		t.Run(name, func(t *testing.T) {
			s := &countingStore{Store: memstore.New(memstore.Config{Partitions: 4})}
			nobody := func(context.Context, events.Event, events.Audience) (events.Started, error) {
				return events.Started{}, nil
			}
			s.bus = events.NewBus(s, nobody, limits.Set{})
			var all events.Audience
			for n := range 20 {
				all = append(all, fmt.Sprint("n", n))
				s.listen(t, store.Instance{Namespace: all[n], ID: "run"}, true, from)
			}
			for _, n := range []int{1, 7, 8, 9, 20} {
				s.publish(t, all[:n], fmt.Sprint(n), n, 40)
				s.publish(t, append(events.Audience{"other", "other"}, all[:n]...), fmt.Sprint(n), n, 40)
			}
		})
	}
}

// TestListenersOfOtherNamespaces: an event of a namespace reads no runs of another namespace that listen for the same type, with or without
// correlations.
func TestListenersOfOtherNamespaces(t *testing.T) {
	s := &countingStore{Store: memstore.New(memstore.Config{Partitions: 4})}
	nobody := func(context.Context, events.Event, events.Audience) (events.Started, error) {
		return events.Started{}, nil
	}
	s.bus = events.NewBus(s, nobody, limits.Set{})
	for n := range 3000 {
		s.listen(t, store.Instance{Namespace: "aa", ID: fmt.Sprint("run-", n)}, true, "")
	}
	s.listen(t, store.Instance{Namespace: "bb", ID: "run"}, true, "")
	s.listen(t, store.Instance{Namespace: "bb", ID: "correlates"}, true, `[".data.n"]`)
	s.publish(t, events.Audience{"bb"}, "bb", 2, 5)
	if s.runs > 2 {
		t.Errorf("an event for 2 runs has read %d", s.runs)
	}
	s.publish(t, nil, "all", 3002, 100)
}
