package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/swrun/swrun/internal/sources"
)

// Sources exports the state of the sources of events of this process.
func (m *Metrics) Sources(states func() []sources.State) {
	m.registry.MustRegister(sourceCollector(states))
}

type sourceCollector func() []sources.State

// Describe describes nothing, because the operator chooses the sources.
func (sourceCollector) Describe(chan<- *prometheus.Desc) {}

func (states sourceCollector) Collect(all chan<- prometheus.Metric) {
	connected := describe("swrun_source_connected", "1 if the source of events reads its broker, 0 while it tries to connect again.", "source", "kind")
	accepted := describe("swrun_source_events_total", "Stored events of a source, including events that were published before.", "source", "kind")
	aside := describe("swrun_source_messages_set_aside_total", "Messages of a source without an event, or with an event that cannot be accepted.", "source", "kind")
	for _, s := range states() {
		up := 0.0
		if s.Connected {
			up = 1
		}
		all <- number(connected, prometheus.GaugeValue, up, s.Name, s.Kind)
		all <- number(accepted, prometheus.CounterValue, float64(s.Accepted), s.Name, s.Kind)
		all <- number(aside, prometheus.CounterValue, float64(s.SetAside), s.Name, s.Kind)
	}
}
