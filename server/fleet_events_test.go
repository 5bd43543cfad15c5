package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/server"
)

// fleetEvent is the content of an event of the fleet.
type fleetEvent struct{ cursor, run, kind string }

// followFleet sends the events of the fleet until ctx ends. It returns when the stream misses no further event.
func (d *deployment) followFleet(t *testing.T, ctx context.Context, query, last string) <-chan fleetEvent {
	t.Helper()
	events, begun := make(chan fleetEvent, 10_000), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	each := func(e sent) bool {
		if e.id == "" { // a comment
			if e.data == "nothing is missed from here on" {
				begin()
			}
			return true
		}
		var event struct {
			ID, Type string
			Data     struct{ Name, Workflow string }
		}
		if err := json.Unmarshal([]byte(e.data), &event); err != nil || !strings.HasSuffix(e.id, "/"+event.ID) {
			t.Errorf("%v: %s: %s", err, e.id, e.data)
		}
		events <- fleetEvent{e.id, event.ID[:strings.LastIndex(event.ID, "-")], strings.TrimSuffix(strings.TrimPrefix(event.Type, "io.serverlessworkflow."), ".v1")}
		return true
	}
	go func() {
		d.follow(t, ctx, "/v1/runs/events"+query, last, each)
		begin()
		close(events)
	}()
	<-begun
	return events
}

// until takes events until some runs are over, or no further events arrive, and returns the events of each run.
func until(events <-chan fleetEvent, ended ...string) (did map[string][]string, all []fleetEvent) {
	did, ended = map[string][]string{}, slices.Clone(ended)
	patience := time.After(pacetest.Patience)
	for len(ended) > 0 {
		var e fleetEvent
		var came bool
		select {
		case e, came = <-events:
		case <-patience:
		}
		if !came {
			return did, all
		}
		all = append(all, e)
		did[e.run] = append(did[e.run], e.kind)
		ended = slices.DeleteFunc(ended, func(run string) bool { return run == e.run && strings.HasPrefix(e.kind, "workflow.c") })
	}
	return did, all
}

const echoEvents = "[workflow.started task.created task.started task.completed workflow.completed]"

// TestFleetEvents: followers of the fleet see the events of all runs in their order, and no earlier events; with a filter, only the events of the
// selected runs. A follower that returns with Last-Event-ID misses nothing. All of this also applies if written events have an earlier time than the
// store's time, as in Redis.
func TestFleetEvents(t *testing.T) {
	d := mustDeployment(t)
	d.store.ahead.Store(int64(time.Second))
	d.mustDeploy(t, "echo", echoes)
	d.mustDeploy(t, "wait", waits)
	d.ask(t, "GET", d.mustStart(t, "echo", "before")+"/output?wait=30s", "")
	waiting := d.mustStart(t, "wait", "long") // it exists before, and continues
	for mustRead[api.Run](t, d.ask(t, "GET", waiting, ""), http.StatusOK).Status != "waiting" {
		time.Sleep(time.Millisecond)
	}
	events := d.followFleet(t, t.Context(), "", "")
	waits := d.followFleet(t, t.Context(), "?where=workflow=demo/wait", "")
	cancelled := d.followFleet(t, t.Context(), "?where=status=cancelled&namespace=demo", "")
	var names []string
	for n := range 20 {
		names = append(names, fmt.Sprint("echo", n))
		d.mustStart(t, "echo", names[n])
	}
	did, all := until(events, names...)
	for _, name := range names {
		if fmt.Sprint(did[name]) != echoEvents {
			t.Errorf("%s: %v", name, did[name])
		}
	}
	if len(did) != len(names) {
		t.Errorf("they see %v", did)
	}
	d.ask(t, "POST", waiting+"/cancel", "")
	did, _ = until(events, "long")
	if last := did["long"]; len(did) != 1 || last[len(last)-1] != "workflow.cancelled" {
		t.Errorf("what was there before did %v", did)
	}
	for _, chosen := range []<-chan fleetEvent{waits, cancelled} {
		if some, _ := until(chosen, "long"); fmt.Sprint(some) != fmt.Sprint(did) {
			t.Errorf("with a filter they see %v, and not %v", some, did)
		}
	}

	for _, at := range []int{0, len(all) / 2, len(all) - 1} { // like another server: this one has forgotten the follower
		ctx, leave := context.WithCancel(t.Context())
		again, _ := until(d.followFleet(t, ctx, "", all[at].cursor), "long")
		for _, name := range names {
			var missed []string
			for _, e := range all[at+1:] {
				if e.run == name {
					missed = append(missed, e.kind)
				}
			}
			if got := again[name]; len(got) < len(missed) || !slices.Equal(got[len(got)-len(missed):], missed) {
				t.Errorf("%s after event %d: %v, and not %v", name, at, got, missed)
			}
		}
		leave()
	}
	for _, id := range []string{"odd", "-1-demo/a-1", "99999999999999999999-demo/a-1", "12"} {
		d.ask(t, "GET", "/v1/runs/events", "", "Last-Event-ID", id).isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	}
	d.ask(t, "GET", "/v1/runs/events?where=colour=red", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-filter")
	if a := d.ask(t, "HEAD", "/v1/runs/events", ""); a.StatusCode != http.StatusOK || a.body != "" {
		t.Errorf("HEAD: %s: %s", a.Status, a.body)
	}
}

// TestFleetOfTwoServers: a follower at one server of a store sees the runs that start at the other server, and continues there when the first server
// is gone.
func TestFleetOfTwoServers(t *testing.T) {
	redis := redistest.Start(t)
	serve := func() *deployment { return mustServe(t, redis.URL(), func(*server.Config, *access.Tokens) {}) }
	first, second := serve(), serve()
	first.mustDeploy(t, "echo", echoes)
	ctx, leave := context.WithCancel(t.Context())
	events := first.followFleet(t, ctx, "", "")
	second.mustStart(t, "echo", "one")
	did, all := until(events, "one")
	if fmt.Sprint(did["one"]) != echoEvents {
		t.Errorf("at the other server it did %v", did)
	}
	leave()
	first.Close()
	second.mustStart(t, "echo", "two")
	again, _ := until(second.followFleet(t, t.Context(), "", all[1].cursor), "one", "two")
	if got := again["one"]; fmt.Sprint(again["two"]) != echoEvents || !slices.Equal(got[len(got)-3:], did["one"][2:]) {
		t.Errorf("who goes on at the other server sees %v", again)
	}
}

// TestFleetOfManyFollowers: one reader serves any number of followers. When the last follower has left, the reader stops.
func TestFleetOfManyFollowers(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	ctx, leave := context.WithCancel(t.Context())
	const followers = 200
	var all []<-chan fleetEvent
	for range followers {
		all = append(all, d.followFleet(t, ctx, "", ""))
	}
	read := d.store.histories.Load()
	d.mustStart(t, "echo", "one")
	for n, events := range all {
		if did, _ := until(events, "one"); fmt.Sprint(did["one"]) != echoEvents {
			t.Errorf("follower %d: %v", n, did)
		}
	}
	if read = d.store.histories.Load() - read; read > 3 {
		t.Errorf("the history was read %d times", read)
	}
	leave()
	again, stop := context.WithCancel(t.Context())
	defer stop()
	events := d.followFleet(t, again, "", "")
	d.mustStart(t, "echo", "two")
	if did, _ := until(events, "two"); len(did) != 1 {
		t.Errorf("who comes later sees %v", did)
	}
}
