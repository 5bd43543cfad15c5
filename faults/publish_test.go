package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// event is a CloudEvent from outside.
type event map[string]any

// newEvent returns an event with an id and data.
func newEvent(kind, id string, data map[string]any) event {
	return event{"specversion": "1.0", "id": id, "source": "/faults", "type": kind, "data": data}
}

// plant is two servers on one Redis, with two workers beside them, and the publishers of events.
type plant struct {
	*world
	sites   []*site
	running []*worker

	again atomic.Int64 // number of repetitions of unacknowledged events
}

func newPlant(w *world) *plant {
	w.Helper()
	return &plant{world: w, sites: []*site{w.site(), w.site()}, running: []*worker{w.work(), w.work()}}
}

// killAll kills some of the processes at the same time: workers, servers, or both.
func (p *plant) killAll(workers, servers bool) {
	var killing sync.WaitGroup
	for n := range 2 {
		if workers {
			killing.Go(func() { p.running[n].kill() })
		}
		if servers {
			killing.Go(func() { p.sites[n].server.kill() })
		}
	}
	killing.Wait()
}

// revive starts the killed processes again.
func (p *plant) revive() {
	p.Helper()
	for n := range 2 {
		if p.running[n].command.ProcessState != nil {
			p.running[n] = p.work()
		}
		if p.sites[n].server.command.ProcessState != nil {
			p.serve(p.sites[n])
		}
	}
}

// aim returns a fault of one of six kinds, which kills one of the servers, one of the workers, all workers, or all processes. It is called while no
// event is published. A server that is to be killed is stopped first, and killed as soon as a publisher waits for its answer: that event is published
// again.
func (p *plant) aim(kind int) (harm func()) {
	p.Helper()
	switch n := kind % 6; n {
	case 0, 1:
		s := p.sites[n]
		p.signal(s.server, syscall.SIGSTOP)
		return func() {
			p.await("an event is posted to the server that stands still", func() bool { return s.asked.Load() > 0 })
			s.server.kill()
		}
	case 2, 3:
		return func() { p.running[n-2].kill() }
	default:
		return func() { p.killAll(true, n == 5) }
	}
}

// post publishes an event once, at one of the servers, and returns the status, 0 without an answer.
func (p *plant) post(s *site, e event) (status int, answer api.Published) {
	body, err := json.Marshal(e)
	if err != nil {
		p.Error(err)
	}
	s.asked.Add(1)
	defer s.asked.Add(-1)
	response, err := (&http.Client{Timeout: 20 * time.Second}).Post("http://"+s.address+"/v1/events", "application/cloudevents+json", bytes.NewReader(body))
	if err != nil {
		return 0, answer
	}
	defer response.Body.Close()
	if data, err := io.ReadAll(response.Body); err != nil || response.StatusCode == http.StatusAccepted && json.Unmarshal(data, &answer) != nil {
		return 0, answer
	}
	return response.StatusCode, answer
}

// publish publishes an event until it is acknowledged, or until the test has failed.
func (p *plant) publish(e event) {
	for n, limit := rand.IntN(2), time.Now().Add(pacetest.Patience); !p.Failed(); n++ {
		status, _ := p.post(p.sites[n%2], e)
		if status == http.StatusAccepted {
			return
		}
		if status >= 400 && status < 500 || time.Now().After(limit) {
			p.Errorf("event %v is answered with %d", e, status)
			return
		}
		p.again.Add(1)
		time.Sleep(10 * time.Millisecond) // there may be no server
	}
}

// publishAll lets several publishers publish events at the same time, and calls meanwhile with a function that returns the number of acknowledged events.
func (p *plant) publishAll(all []event, meanwhile func(acknowledged func() int)) {
	var done atomic.Int64
	var publishing sync.WaitGroup
	defer publishing.Wait() // even if the callback ends the test
	next := make(chan event)
	for range 8 {
		publishing.Go(func() {
			for e := range next {
				p.publish(e)
				done.Add(1)
			}
		})
	}
	publishing.Go(func() {
		defer close(next)
		for _, e := range all {
			next <- e
		}
	})
	if meanwhile != nil {
		meanwhile(func() int { return int(done.Load()) })
	}
}

// startEach starts n runs of a document, with their numbers as input: {order: 0}, {order: 1}...
func (w *world) startEach(n int, body string) {
	w.Helper()
	document := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\n" + body}
	for order := range n {
		i, err := w.client.StartDefinition(w.Context(), document, map[string]any{"order": order}, client.StartOptions{})
		if err != nil {
			w.Fatal(err)
		}
		w.runs = append(w.runs, i)
	}
}

// await waits until is returns true.
func (w *world) await(what string, is func() bool) {
	w.Helper()
	for deadline := time.Now().Add(pacetest.Patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.unfinished()
			w.Fatal("it never is so that " + what)
		}
	}
}

// listening returns the number of runs that listen for a type without a correlation.
func (w *world) listening(kind string) (n int) {
	w.Helper()
	ask := store.Listening{Filters: []store.ListenFilter{{EventFilter: interpreter.EventFilter{Type: kind}}}, N: 10000}
	for partition := range w.store.Layout().Partitions {
		ask.Partitions = append(ask.Partitions, partition)
	}
	found, err := w.store.Listeners(w.Context(), ask)
	if err != nil {
		w.Fatal(err)
	}
	for _, some := range found.Runs {
		n += len(some.Runs)
	}
	return n
}

// awaitListening waits until n runs listen for a type without a correlation.
func (w *world) awaitListening(n int, kind string) {
	w.Helper()
	w.await(fmt.Sprintf("%d runs listen for %s", n, kind), func() bool { return w.listening(kind) == n })
}

// consumed returns the ids of the events that a run has consumed, and its output.
func consumed(entries []client.HistoryEntry) (ids []string, output any) {
	for _, e := range entries {
		for _, r := range e.Events {
			switch r.Type {
			case interpreter.EventConsumed:
				id, _ := r.Data.(map[string]any)["id"].(string)
				ids = append(ids, id)
			case interpreter.WorkflowCompleted:
				output = r.Data
			}
		}
	}
	slices.Sort(ids)
	return ids, output
}
