package runtime_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// turnsPartitions is how many partitions the stores have of which the outboxes are emptied.
const turnsPartitions = 4

// emptied is a store that records the order of started runs, and calls a function after a number of starts.
type emptied struct {
	store.Store
	mu      sync.Mutex
	started []store.Instance
	at      map[int]func()
	all     chan struct{} // closed when as many as want are started
	want    int
}

func (e *emptied) Start(ctx context.Context, s store.Start) (store.Started, error) {
	done, err := e.Store.Start(ctx, s)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil && s.FamilyMax > 0 {
		e.started = append(e.started, s.Instance)
		if then := e.at[len(e.started)]; then != nil {
			then()
		}
		if len(e.started) == e.want {
			close(e.all)
		}
	}
	return done, err
}

// TestNamespacesTakeTurnsInTheOutbox: the start that a run asks for is delivered in the next turn, however many starts the runs of another namespace have asked for
// before, on every store. The starts of one run keep their order.
func TestNamespacesTakeTurnsInTheOutbox(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (store.Store, error){
		"memory": func(*testing.T) (store.Store, error) {
			return memstore.New(memstore.Config{Partitions: turnsPartitions}), nil
		},
		"file": func(t *testing.T) (store.Store, error) {
			s, err := boltstore.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), boltstore.Config{})
			if err == nil {
				t.Cleanup(func() { s.Close() }) // the file goes anyway
			}
			return s, err
		},
		"Redis":   func(t *testing.T) (store.Store, error) { return redisAt(t, redistest.Start(t).URL()) },
		"Cluster": func(t *testing.T) (store.Store, error) { return redisAt(t, redistest.Cluster(t, 3)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			takeTurns(t, s)
		})
	}
}

// TestEntriesOfOlderBuildsComeFirst: entries without the namespace of their run are delivered before all others, in their order.
func TestEntriesOfOlderBuildsComeFirst(t *testing.T) {
	h, e := newEmptied(t, memstore.New(memstore.Config{Partitions: turnsPartitions}), 252)
	h.asks("small", "new", 1)
	h.asksFrom("", "large", "old", 250)
	h.asks("small", "newer", 1)
	stop := h.work(worker.Config{Concurrency: -1})
	<-e.all
	stop()
	var late []int // where the others are
	for n, i := range e.started {
		if i.Namespace == "small" {
			late = append(late, n)
		}
	}
	if !slices.Equal(late, []int{250, 251}) {
		t.Errorf("the starts that say their namespace are at %v", late)
	}
}

func redisAt(t *testing.T, url string) (store.Store, error) {
	s, err := redisstore.Open(t.Context(), url, redisstore.Config{Deployment: "D", Partitions: turnsPartitions})
	if err == nil {
		t.Cleanup(func() { s.Close() }) // the server is gone then
	}
	return s, err
}

// newEmptied returns a host of a store in which as many starts are wanted, with the workflow that they start.
func newEmptied(t *testing.T, s store.Store, want int) (*host, *emptied) {
	e := &emptied{Store: s, all: make(chan struct{}), want: want}
	h := &host{T: t, store: e}
	h.client = client.New(client.Config{Store: e, Compile: h.compile})
	for _, namespace := range []string{"large", "small"} {
		_, err := h.client.Deploy(t.Context(), definition.Definition{Document: "document: {dsl: 1.0.3, namespace: " + namespace + ", name: leaf, version: 0.1.0}\ndo: [{x: {set: {n: 1}}}]"})
		h.must(err)
	}
	return h, e
}

func takeTurns(t *testing.T, s store.Store) {
	const middle, turn = 150, 100
	many := pacetest.Fewer(1500, 3)
	h, e := newEmptied(t, s, many+2)
	h.asks("large", "a", many)
	h.asks("small", "b", 1)
	e.at = map[int]func(){middle: func() { h.asks("small", "c", 1) }}
	stop := h.work(worker.Config{Concurrency: -1})
	<-e.all
	stop()
	first := slices.IndexFunc(e.started, func(i store.Instance) bool { return i.ID == "b-00000" })
	second := slices.IndexFunc(e.started, func(i store.Instance) bool { return i.ID == "c-00000" })
	if first < 0 || first > 1 || second < middle || second > middle+turn+1 {
		t.Errorf("the starts of the small namespace are at %d and %d, want them in the first turn, and in the turn that follows %d", first, second, middle)
	}
	large := slices.DeleteFunc(slices.Clone(e.started), func(i store.Instance) bool { return i.Namespace == "small" })
	if !slices.IsSortedFunc(large, func(a, b store.Instance) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the starts of one run are in another order")
	}
}

// asks has a run of a namespace ask for starts of children, as one commit. All such runs are in one partition.
func (h *host) asks(namespace, name string, n int) {
	h.Helper()
	h.asksFrom(namespace, namespace, name, n)
}

// asksFrom is asks with entries of another namespace, or without a namespace.
func (h *host) asksFrom(from, namespace, name string, n int) {
	h.Helper()
	i := store.Instance{Namespace: namespace, ID: name}
	for k := 0; i.Partition(h.store.Layout().Partitions) != 0; k++ {
		i.ID = fmt.Sprintf("%s%d", name, k)
	}
	s := h.store.(*emptied).Store
	_, err := s.Start(h.Context(), store.Start{Instance: i, Invocation: []byte("{}")})
	h.must(err)
	claimed, err := s.Claim(h.Context(), store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: name, Lease: time.Hour})
	h.must(err)
	c := store.Commit{Instance: i, Token: claimed[0].Token, Next: 1, At: claimed[0].At, Status: interpreter.StatusRunning}
	for k := range n {
		data, err := execution.Outgoing{From: from, Child: &execution.ChildStart{
			ID: fmt.Sprintf("%s-%05d", name, k), Workflow: definition.Reference{Namespace: namespace, Name: "leaf", Version: "0.1.0"}, Origin: &i, Family: i,
		}}.Encode()
		h.must(err)
		c.Outbox = append(c.Outbox, data)
	}
	_, err = s.Commit(h.Context(), c)
	h.must(err)
}
