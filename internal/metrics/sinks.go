package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/swrun/swrun/internal/sinks"
)

// Sinks exports the state of the sinks of events of this process.
func (m *Metrics) Sinks(states func() []sinks.State) {
	m.registry.MustRegister(sinkCollector(states))
}

type sinkCollector func() []sinks.State

// Describe describes nothing, because the operator chooses the sinks.
func (sinkCollector) Describe(chan<- *prometheus.Desc) {}

func (states sinkCollector) Collect(all chan<- prometheus.Metric) {
	holds := describe("swrun_sink_active", "1 if this process sends events to the sink, 0 if another one may.", "sink", "kind")
	sent := describe("swrun_sink_events_total", "Events from this process that the sink accepted.", "sink", "kind")
	failed := describe("swrun_sink_failures_total", "Attempts to send an event that the sink did not accept.", "sink", "kind")
	dead := describe("swrun_sink_dead_letters_total", "Events that were given up.", "sink", "kind")
	lag := describe("swrun_sink_lag_seconds", "Age of the oldest event that is being sent; 0 without one.", "sink", "kind")
	for _, s := range states() {
		active, behind := 0.0, 0.0
		if s.Holds {
			active = 1
		}
		if !s.Waiting.IsZero() {
			behind = time.Since(s.Waiting).Seconds()
		}
		all <- number(holds, prometheus.GaugeValue, active, s.Name, s.Kind)
		all <- number(sent, prometheus.CounterValue, float64(s.Sent), s.Name, s.Kind)
		all <- number(failed, prometheus.CounterValue, float64(s.Failed), s.Name, s.Kind)
		all <- number(dead, prometheus.CounterValue, float64(s.DeadLetters), s.Name, s.Kind)
		all <- number(lag, prometheus.GaugeValue, behind, s.Name, s.Kind)
	}
}
