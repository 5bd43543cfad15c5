package metrics_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/metrics"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/internal/sources"
)

const document = `document: {dsl: 1.0.3, namespace: demo, name: worked, version: 1.0.0}
do:
- t:
    try: [{slow: {wait: PT5S, timeout: {after: PT1S}}}]
    catch: {retry: {delay: PT1S, limit: {attempt: {count: 1}}}, do: [{ok: {set: {x: 1}}}]}
- skipped: {if: "${ false }", set: {x: 2}}
`

// TestMetrics: everything in a run is counted once, and so is the content of the store. Names and labels are exactly those of docs/operating.md.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := swrun.NewEngine(s, swrun.EngineConfig{Concurrency: 7, SweepInterval: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		m := metrics.New(e, s, doctor.NewMonitor(s, time.Now), time.Now)
		m.Sinks(func() []sinks.State {
			return []sinks.State{{Name: "audit", Kind: "http", Sent: 4, Failed: 2, DeadLetters: 1}}
		})
		m.Sources(func() []sources.State { return []sources.State{{Name: "orders", Kind: "redis", Accepted: 3}} })
		if err := deadletter.Keep(ctx, s, deadletter.Message{Source: "orders", Kind: "redis"}); err != nil {
			t.Fatal(err)
		}
		d, err := swrun.Parse("worked.yaml", []byte(document))
		if err != nil {
			t.Fatal(err)
		}
		run, err := e.StartDocument(ctx, d, nil, swrun.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // virtual
		has(t, text(t, m), `swrun_runs{state="ready"} 1`, `swrun_ready_oldest_age_seconds 60`, `swrun_workers 0`, `swrun_slots{state="free"} 0`, `swrun_tasks_total{outcome="started"} 0`)
		working, stop := context.WithCancel(ctx)
		worked := make(chan error)
		go func() { worked <- e.Work(working) }()
		if _, err := run.Await(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		m.RequestBegan()("getRun", 200, time.Millisecond)
		after := text(t, m)
		has(t, after, `swrun_store_up 1`, `swrun_runs{state="closed"} 1`, `swrun_runs{state="ready"} 0`, `swrun_ready_oldest_age_seconds 0`, `swrun_workers 1`, `swrun_slots{state="free"} 7`,
			`swrun_runs_claimed_total 4`, `swrun_leases_lost_total 0`, `swrun_runs_ended_total{reason="completed"} 1`, `swrun_runs_ended_total{reason="timed_out"} 0`,
			`swrun_tasks_total{outcome="started"} 4`, `swrun_tasks_total{outcome="skipped"} 1`, `swrun_task_retries_total 1`, `swrun_timeouts_total 2`,
			`swrun_timer_lateness_seconds_count 3`, `swrun_timer_lateness_seconds_bucket{le="0.01"} 3`, `swrun_http_requests_total{operation="getRun",status="200"} 1`, `swrun_http_requests_in_progress 0`)
		has(t, after, `swrun_repair_check_interval_seconds 40`, `swrun_repair_sweep_interval_seconds 30`, `swrun_repair_scan_limit 1000`, `swrun_repair_compared_runs_total 2`)
		has(t, after, `swrun_sink_active{kind="http",sink="audit"} 0`, `swrun_sink_events_total{kind="http",sink="audit"} 4`, `swrun_sink_failures_total{kind="http",sink="audit"} 2`)
		has(t, after, `swrun_sink_dead_letters_total{kind="http",sink="audit"} 1`, `swrun_sink_lag_seconds{kind="http",sink="audit"} 0`)
		has(t, after, `swrun_source_connected{kind="redis",source="orders"} 0`, `swrun_source_events_total{kind="redis",source="orders"} 3`, `swrun_source_messages_set_aside_total{kind="redis",source="orders"} 0`, `swrun_source_dead_letters{kind="redis",source="orders"} 1`)
		agreesWithThePage(t, after)
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})
}

func text(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	data, err := m.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, " ")
			t.Errorf("no %s, but %q", line, regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+` .*`).FindString(text))
		}
	}
}

// agreesWithThePage compares the table of docs/operating.md with the served metrics: names with their labels.
func agreesWithThePage(t *testing.T, text string) {
	t.Helper()
	served := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(swrun_\w+)(?:\{([^}]*)\})? `).FindAllStringSubmatch(text, -1) {
		var labels []string
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		name := m[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		slices.Sort(labels)
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		served[name] = true
	}
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(swrun_[^`]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		told[m[1]] = true
		if !served[m[1]] {
			t.Errorf("docs/operating.md tells of %s, which is not served", m[1])
		}
	}
	for name := range served {
		if !told[name] {
			t.Errorf("docs/operating.md does not tell of %s", name)
		}
	}
}
