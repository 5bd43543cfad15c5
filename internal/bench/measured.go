package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/terminal"
)

// Measured are the figures of a scenario. percentilesOf names the subject of the percentiles.
type Measured struct {
	Scenario  string  `json:"scenario"`
	Runs      int     `json:"runs"`
	Steps     int     `json:"steps"`
	Seconds   float64 `json:"seconds"`
	StepsPerS float64 `json:"steps_per_s"`
	Percentiles
	Early            int     `json:"early"`
	Lost             int     `json:"lost"`
	Duplicates       int     `json:"duplicates"`
	RedisBytesPerRun float64 `json:"redis_bytes_per_run"`
	WorkerRSS        int64   `json:"worker_rss_bytes"`
	RawEvalPerS      float64 `json:"raw_eval_per_s"`
	RatioToRaw       float64 `json:"ratio_to_raw"`
	GrowthPerStep    float64 `json:"cost_at_end_to_beginning,omitempty"`
	Recovery         float64 `json:"recovery_seconds,omitempty"`
	BurstLateness    float64 `json:"burst_late_seconds,omitempty"` // of the last of the runs that were due together
	CPUPerStep       float64 `json:"worker_cpu_us_per_step,omitempty"`
	OutsideCPU       float64 `json:"outside_cpu_us_per_step,omitempty"`
	RawHTTPPerS      float64 `json:"raw_http_per_s,omitempty"`
	RawHTTPCPU       float64 `json:"raw_http_cpu_us_per_request,omitempty"`
	Connections      int     `json:"http_connections,omitempty"` // of all requests of the scenario, including the bare ones
	Started          float64 `json:"started_per_s,omitempty"`
	Ended            float64 `json:"ended_per_s,omitempty"`
	Removed          float64 `json:"removed_per_s,omitempty"`
	StoreOpsPerS     float64 `json:"store_ops_per_s,omitempty"`
	WorkerCPU        float64 `json:"worker_cpu_percent,omitempty"`
	Broadcast        float64 `json:"broadcast_seconds,omitempty"` // until an event has ended all of its listeners

	ByKind map[string]Percentiles `json:"by_timeout_kind,omitempty"` // separately for each kind of timeout

	percentilesOf string // lateBy, stepTook or eventTook
}

// Percentiles are the percentiles of some durations, in milliseconds.
type Percentiles struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// percentiles returns the percentiles of durations, which it sorts; there is at least one.
func percentiles(all []time.Duration) Percentiles {
	slices.Sort(all)
	at := func(q float64) float64 { return milliseconds(all[min(len(all)-1, int(q*float64(len(all))))]) }
	return Percentiles{P50: at(0.5), P99: at(0.99), Max: milliseconds(all[len(all)-1])}
}

func (p Percentiles) text() string {
	return fmt.Sprintf("p50 %.1fms p99 %.1fms max %.1fms", p.P50, p.P99, p.Max)
}

// The subjects of percentiles.
const (
	lateBy    = "late by" // from the due time to the time of the commit
	stepTook  = "a step took"
	eventTook = "an event took" // from the publication to the consumption by its run
)

// durations fills in the percentiles of some durations.
func (m *Measured) durations(of string, all []time.Duration) {
	m.percentilesOf = of
	if len(all) == 0 {
		return
	}
	m.Percentiles = percentiles(all)
	for _, d := range all {
		if of == lateBy && d < 0 {
			m.Early++
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// took fills in the duration of some steps.
func (m *Measured) took(d time.Duration, steps int) {
	m.Steps, m.Seconds = steps, d.Seconds()
	m.StepsPerS = float64(steps) / d.Seconds()
	if m.RawEvalPerS > 0 {
		m.RatioToRaw = m.StepsPerS / m.RawEvalPerS
	}
}

// String returns the figures in one line, for people.
func (m *Measured) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-11s %s, %s in %.2fs: %.0f steps/s", m.Scenario, terminal.Counted(m.Runs, "run"), terminal.Counted(m.Steps, "step"), m.Seconds, m.StepsPerS)
	if m.RawEvalPerS > 0 {
		fmt.Fprintf(&b, ", %.0f%% of %.0f bare scripts/s", 100*m.RatioToRaw, m.RawEvalPerS)
	}
	if m.RawHTTPPerS > 0 {
		fmt.Fprintf(&b, " and %.0f µs of the worker's CPU each, %.0f%% of %.0f bare requests/s with %.0f µs each",
			m.CPUPerStep, 100*m.RatioToRaw, m.RawHTTPPerS, m.RawHTTPCPU)
		fmt.Fprintf(&b, ", over %d connections", m.Connections)
	}
	if m.Max > 0 {
		fmt.Fprintf(&b, ", %s %s", m.percentilesOf, m.Percentiles.text())
	}
	for _, kind := range slices.Sorted(maps.Keys(m.ByKind)) {
		fmt.Fprintf(&b, " (%s %s)", kind, m.ByKind[kind].text())
	}
	if m.percentilesOf == lateBy {
		fmt.Fprintf(&b, ", early %d", m.Early)
	}
	if m.RedisBytesPerRun > 0 {
		fmt.Fprintf(&b, ", %.0f bytes a run", m.RedisBytesPerRun)
	}
	b.WriteString(m.own())
	fmt.Fprintf(&b, ", lost %d, twice %d, worker %.0f MB", m.Lost, m.Duplicates, float64(m.WorkerRSS)/1e6)
	return b.String()
}

// own returns the figures of single scenarios.
func (m *Measured) own() string {
	var b strings.Builder
	if m.GrowthPerStep > 0 {
		fmt.Fprintf(&b, ", a step at the end takes %.2f of one at the beginning", m.GrowthPerStep)
	}
	if m.Recovery > 0 {
		fmt.Fprintf(&b, ", recovered in %.2fs", m.Recovery)
	}
	if m.BurstLateness > 0 {
		fmt.Fprintf(&b, ", the last of those due at once late by %.2fs", m.BurstLateness)
	}
	if m.Broadcast > 0 {
		fmt.Fprintf(&b, ", one for all of them took %.2fs", m.Broadcast)
	}
	if m.Started > 0 {
		fmt.Fprintf(&b, ", started %.0f/s, ended %.0f/s, removed %.0f/s", m.Started, m.Ended, m.Removed)
	}
	if m.WorkerCPU+m.StoreOpsPerS > 0 {
		fmt.Fprintf(&b, ", %.0f operations/s of the store and %.2f%% of a core by an idle worker", m.StoreOpsPerS, m.WorkerCPU)
	}
	return b.String()
}
