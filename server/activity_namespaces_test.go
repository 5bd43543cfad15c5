package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/pacetest"
)

// TestPollsOfOtherNamespaces: a worker that polls for one namespace gets no activity of another one, and does not hide activities from the polls for
// that namespace (promises 94, 221).
func TestPollsOfOtherNamespaces(t *testing.T) {
	d := mustDeployment(t)
	d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: resize, queue: images}}}]`)
	d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: resize, queue: images}}}]`)
	for _, namespace := range []string{"beta", "gamma", "beta"} {
		if all := d.polled(t, `{"queues": ["images"], "namespace": "`+namespace+`"}`); len(all) != 0 {
			t.Errorf("a poll for %s got %v", namespace, all)
		}
	}
	if all := d.polled(t, `{"queues": ["images"], "namespace": "demo", "wait": "20s"}`); len(all) != 1 {
		t.Errorf("a poll for demo got %v", all)
	}
	if all := d.polled(t, `{"queues": ["images"], "wait": "20s"}`); len(all) != 1 {
		t.Errorf("a poll for all namespaces got %v", all)
	}
}

// TestDeadlinesOfActivitiesAreListed: the list of the next deadlines contains the deadlines of activities, before and after a worker has taken one
// (promise 223).
func TestDeadlinesOfActivitiesAreListed(t *testing.T) {
	d := mustDeployment(t)
	d.start(t, `do: [{work: {call: 'activity:1.0.0@default', with: {type: resize, queue: images, timeouts: {scheduleToStart: PT1H, startToClose: PT2H, heartbeat: PT30M, scheduleToClose: PT3H}}}}]`)
	kinds := func() string {
		var all []string
		for _, u := range mustRead[[]api.UpcomingDeadline](t, d.ask(t, "GET", "/v1/deadlines?within=4h", ""), http.StatusOK) {
			all = append(all, u.Kind)
		}
		return strings.Join(all, " ")
	}
	if all := d.polled(t, `{"queues": ["none"]}`); len(all) != 0 {
		t.Errorf("a poll of another queue got %v", all)
	}
	eventually(t, "the activity waits", func() bool { return kinds() == "schedule_to_start schedule_to_close" })
	if all := d.polled(t, `{"queues": ["images"], "wait": "20s"}`); len(all) != 1 {
		t.Fatalf("polled %v", all)
	}
	eventually(t, "the activity is performed", func() bool { return kinds() == "heartbeat start_to_close schedule_to_close" })
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(pacetest.Patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to pass that %s", what)
		}
	}
}
