package main

import (
	"context"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/metrics"
	"github.com/swrun/swrun/internal/sinks"
	"github.com/swrun/swrun/runtime/store"
)

// makeSinks makes the sinks of the file of --events; they get the engine and its store when they run.
func (o *operation) makeSinks(f *serveFlags, e *swrun.Engine, s store.Registry) (*sinks.Sinks, error) {
	return sinks.New(f.file.Sinks, sinks.Config{
		Secret: o.secrets.Lookup, Log: f.log, Out: o.out, Registry: s, Transport: e.Transport(),
		PositionAt: func(at time.Time) string { return control.FleetSince(at).ID() },
		Follow:     f.control.FollowAsSink, Find: f.control.SinkEvent,
	})
}

// checkSinks reports a missing secret of a sink before anything starts.
func (p *program) checkSinks(f *serveFlags) error {
	_, err := sinks.New(f.file.Sinks, sinks.Config{Secret: p.secrets.Lookup})
	return f.explained(err)
}

// sendEvents registers the sinks in a control and metrics, and returns a function that sends to them until its context ends.
func (o *operation) sendEvents(f *serveFlags, e *swrun.Engine, m *metrics.Metrics) (func(context.Context) error, error) {
	if f.file == nil || len(f.file.Sinks) == 0 {
		return func(context.Context) error { return nil }, nil
	}
	s, err := o.makeSinks(f, e, o.store.Store)
	if err != nil {
		return nil, err
	}
	f.control.AlsoExamine = bothFindings(f.control.AlsoExamine, s.Findings)
	m.Sinks(s.States)
	for _, one := range f.file.Sinks {
		f.log.Info("events are sent to a sink", "sink", one.Name, "kind", one.Kind, "events", one.Events, "namespaces", namesOrAll(one.Namespaces))
	}
	return s.Run, nil
}

// bothFindings returns the findings of two functions; one may be nil.
func bothFindings(one, two func() []doctor.Finding) func() []doctor.Finding {
	if one == nil {
		return two
	}
	return func() []doctor.Finding { return append(one(), two()...) }
}
