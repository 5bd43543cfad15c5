package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/swrun/swrun/runtime/worker"
)

// engineCollector exports the counters of this process's workers.
type engineCollector struct{ figures *worker.Figures }

// figure is a number that grows.
type figure struct {
	name, help string
	value      func(*worker.Figures) *atomic.Int64
}

func figures() []figure {
	return []figure{
		{"swrun_runs_claimed_total", "Runs that workers of this process took.", func(f *worker.Figures) *atomic.Int64 { return &f.Claimed }},
		{"swrun_runs_taken_over_total", "Runs that workers of this process took because their former worker was lost.", func(f *worker.Figures) *atomic.Int64 { return &f.TakenOver }},
		{"swrun_leases_lost_total", "Runs that other workers took from this process after the end of its lease.", func(f *worker.Figures) *atomic.Int64 { return &f.Lost }},
		{"swrun_commits_refused_total", "Commits that the store refused, mostly because another change came first.", func(f *worker.Figures) *atomic.Int64 { return &f.CommitRefused }},
		{"swrun_commits_unanswered_total", "Commits without an answer of the store; they were sent again.", func(f *worker.Figures) *atomic.Int64 { return &f.CommitFailed }},
		{"swrun_reports_made_up_total", "Late reports about attempts that no worker received. They were refused, and not noted.", func(f *worker.Figures) *atomic.Int64 { return &f.MadeUp }},
		{"swrun_timeouts_total", "Timeouts of tasks and runs.", func(f *worker.Figures) *atomic.Int64 { return &f.TimedOut }},
		{"swrun_repair_checks_total", "Partitions of the store whose indexes were checked.", func(f *worker.Figures) *atomic.Int64 { return &f.Checked }},
		{"swrun_repair_compared_runs_total", "Runs that were compared with the indexes, one by one.", func(f *worker.Figures) *atomic.Int64 { return &f.Compared }},
		{"swrun_task_attempts_failed_total", "Attempts of calls, commands, scripts, activities and children that ended with an error.", func(f *worker.Figures) *atomic.Int64 { return &f.AttemptsFailed }},
		{"swrun_task_retries_total", "Attempts that a retry policy granted.", func(f *worker.Figures) *atomic.Int64 { return &f.Retries }},
	}
}

func taskOutcomes(f *worker.Figures) map[string]*atomic.Int64 {
	return map[string]*atomic.Int64{
		"started": &f.TasksStarted, "completed": &f.TasksCompleted, "faulted": &f.TasksFaulted, "cancelled": &f.TasksCancelled, "skipped": &f.TasksSkipped,
	}
}

func (c *engineCollector) Describe(all chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, all) }

func (c *engineCollector) Collect(all chan<- prometheus.Metric) {
	for _, f := range figures() {
		all <- number(describe(f.name, f.help), prometheus.CounterValue, float64(f.value(c.figures).Load()))
	}
	for name, setting := range map[string]struct {
		help  string
		value float64
	}{
		"swrun_repair_check_interval_seconds": {"The setting: interval of the checks of the store's indexes.", c.figures.Repair.CheckInterval.Seconds()},
		"swrun_repair_sweep_interval_seconds": {"The setting: interval in which every run is compared with the indexes.", c.figures.Repair.SweepInterval.Seconds()},
		"swrun_repair_scan_limit":             {"The setting: number of entries of an index that are compared at a time.", float64(c.figures.Repair.ScanLimit)},
	} {
		all <- number(describe(name, setting.help), prometheus.GaugeValue, setting.value)
	}
	ended := describe("swrun_runs_ended_total", "Runs that ended here, by the reason of their end.", "reason")
	for reason, n := range c.figures.Ended {
		all <- number(ended, prometheus.CounterValue, float64(n.Load()), reason)
	}
	tasks := describe("swrun_tasks_total", "Tasks that started here, by their outcome.", "outcome")
	for outcome, n := range taskOutcomes(c.figures) {
		all <- number(tasks, prometheus.CounterValue, float64(n.Load()), outcome)
	}
	all <- histogram("swrun_commit_duration_seconds", "Time in which the store stored a change of a run.", &c.figures.Stored)
	all <- histogram("swrun_timer_lateness_seconds", "Lateness of a wait, a retry or a deadline when its worker handled it.", &c.figures.Late)
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func number(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, kind, v, labels...)
}

func histogram(name, help string, h *worker.Histogram) prometheus.Metric {
	count, sum, within := h.Read()
	buckets := map[float64]uint64{}
	for d, n := range within {
		buckets[float64(d)/float64(time.Second)] = n
	}
	return prometheus.MustNewConstHistogram(describe(name, help), count, sum.Seconds(), buckets)
}
