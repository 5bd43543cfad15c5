package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/metrics"
)

// observed runs a document in virtual time, with a performer of `call: f@default`, and passes its metrics to a test a minute later.
func observed(t *testing.T, document string, f swrun.Performer, test func(t *testing.T, m *metrics.Metrics, run *swrun.Run)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		s, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := swrun.NewEngine(s, swrun.EngineConfig{Queues: []string{"default"}, Host: swrun.Host{Calls: map[string]swrun.Performer{"f@default": f}}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: demo, name: a, version: 0.1.0}\n"+document))
		if err != nil {
			t.Fatal(err)
		}
		run, err := e.StartDocument(ctx, d, nil, swrun.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		worked := make(chan error)
		go func() { worked <- e.Work(ctx) }()
		time.Sleep(time.Minute) // virtual
		test(t, metrics.New(e, s, doctor.NewMonitor(s, time.Now), time.Now), run)
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})
}

// TestPromise210: retries, waiting retries and failed attempts are counted.
func TestPromise210(t *testing.T) {
	const document = "do: [{a: {try: [{c: {call: f@default}}], catch: {retry: {delay: PT45S}}}}]\n"
	attempts := 0
	failing := func(context.Context, swrun.Call) (any, error) {
		if attempts++; attempts < 3 {
			return nil, errors.Runtimef("not yet")
		}
		return nil, nil
	}
	observed(t, document, failing, func(t *testing.T, m *metrics.Metrics, run *swrun.Run) {
		has(t, text(t, m), `swrun_tasks_retrying 1`, `swrun_retry_backlog 1`, `swrun_task_attempts_failed_total 2`, `swrun_task_retries_total 2`)
		if _, err := run.Await(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		has(t, text(t, m), `swrun_tasks_retrying 0`, `swrun_retry_backlog 0`, `swrun_task_attempts_failed_total 2`)
	})
	const activity = "do: [{a: {call: 'activity:1.0.0@default', with: {type: x, timeouts: {scheduleToStart: PT10S}, retry: {backoff: [PT1S, PT5M]}}}}]\n"
	observed(t, activity, failing, func(t *testing.T, m *metrics.Metrics, run *swrun.Run) {
		has(t, text(t, m), `swrun_tasks_retrying 1`, `swrun_retry_backlog 1`, `swrun_task_attempts_failed_total 2`)
		time.Sleep(5 * time.Minute)
		has(t, text(t, m), `swrun_tasks_retrying 0`, `swrun_retry_backlog 0`, `swrun_task_attempts_failed_total 3`)
		if result, err := run.Await(t.Context()); err == nil {
			t.Errorf("the run ends with %v", result)
		}
	})
}

// TestPromise121: the waiting work is exported by queue, with its age and its workers. Repairs and the examined entries are counted.
func TestPromise121(t *testing.T) {
	const document = "do: [{a: {call: f@default, metadata: {swrun: {queue: gpu}}}}]\n"
	never := func(context.Context, swrun.Call) (any, error) { return nil, nil }
	observed(t, document, never, func(t *testing.T, m *metrics.Metrics, _ *swrun.Run) {
		has(t, text(t, m), `swrun_queue_waiting{queue="gpu"} 1`, `swrun_queue_oldest_age_seconds{queue="gpu"} 60`, `swrun_queue_workers{queue="gpu"} 0`,
			`swrun_queue_waiting{queue="default"} 0`, `swrun_queue_workers{queue="default"} 1`, `swrun_store_repairs_total 0`, `swrun_outbox_messages 0`, `swrun_repair_checks_total 1`)
	})
}
