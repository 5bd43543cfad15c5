// Package metrics exports the counters of a process and its store for Prometheus. The engine counts in any case; the store is only read for a
// request. No label has values that callers or workflows choose.
package metrics

import (
	"bytes"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/doctor"
)

// Metrics are the metrics of one process. Several goroutines may use them.
type Metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	inProgress prometheus.Gauge
}

// New returns the metrics of an engine and its store, which the monitor watches.
func New(e *swrun.Engine, s *swrun.Store, monitor *doctor.Monitor, now func() time.Time) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "swrun_http_requests_total", Help: "Requests that were answered, by operation and status.",
		}, []string{"operation", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "swrun_http_request_duration_seconds",
			Help:    "Duration of requests, by operation. It includes the requested time of waiting for a run or following it.",
			Buckets: []float64{.001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"operation"}),
		inProgress: prometheus.NewGauge(prometheus.GaugeOpts{Name: "swrun_http_requests_in_progress", Help: "Requests that are not answered yet."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "swrun_build_info", Help: "Always 1; the label contains the version.", ConstLabels: prometheus.Labels{"version": swrun.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.durations, m.inProgress, build, &engineCollector{e.Figures()}, &storeCollector{store: s, monitor: monitor, now: now},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// RequestBegan counts a request in progress. The returned function must be called with its answer: the operation, empty for none, the status, and the
// duration.
func (m *Metrics) RequestBegan() (answered func(operation string, status int, took time.Duration)) {
	m.inProgress.Inc()
	return func(operation string, status int, took time.Duration) {
		m.inProgress.Dec()
		if operation == "" {
			operation = "none"
		}
		m.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
		m.durations.WithLabelValues(operation).Observe(took.Seconds())
	}
}

// Form is the media type of Text.
const Form = string(expfmt.FmtText)

// Text returns all metrics in the format of Prometheus.
func (m *Metrics) Text() ([]byte, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&b, family); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
