package main

import (
	"context"
	"strings"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/metrics"
	"github.com/swrun/swrun/internal/sources"
)

// readEvents reads the file of --events.
func (f *serveFlags) readEvents(p *program) error {
	if f.events == "" {
		return nil
	}
	text, err := readFile("the file of --events", f.events, bound{bytes: source.MaxSize})
	if err != nil {
		return err
	}
	file, err := eventfile.Parse(f.events, text)
	var wrong *eventfile.Error
	if errors.As(err, &wrong) {
		return usagef(wrong.Help, "%s", wrong)
	}
	if err != nil {
		return err
	}
	f.file = file
	for _, name := range file.Secrets() {
		if !p.secrets.Restricted(name) { // it is for the broker, and not for documents
			p.secrets.Restrict(name)
		}
	}
	if err := p.checkSinks(f); err != nil {
		return err
	}
	if len(file.Sources) == 0 {
		return nil
	}
	f.sources, err = sources.New(file.Sources, sources.Config{
		Secret: p.secrets.Lookup, Log: f.log,
		Publish: func(ctx context.Context, event map[string]any, namespaces []string) error {
			_, err := f.control.Publish(ctx, []map[string]any{event}, namespaces)
			return err
		},
		Keep: func(ctx context.Context, m deadletter.Message) error { return f.control.KeepDead(ctx, m) },
	})
	return f.explained(err)
}

// explained adds to an error of sources or sinks the remedy for a missing secret.
func (f *serveFlags) explained(err error) error {
	if missing := new(eventfile.MissingSecretError); errors.As(err, &missing) {
		return usagef("give it as text in the file of --secrets, or in SWRUN_SECRET_<NAME>", "%s: %s", f.events, missing)
	}
	return err
}

// namesOrAll lists namespaces; an empty list means all.
func namesOrAll(namespaces []string) string {
	if len(namespaces) == 0 {
		return "all"
	}
	return strings.Join(namespaces, ",")
}

// readSources registers the sources in a control and metrics, and returns a function that reads them until its context ends.
func (f *serveFlags) readSources(c *control.Control, m *metrics.Metrics) func(context.Context) error {
	f.control = c
	if f.sources == nil {
		return func(context.Context) error { return nil }
	}
	c.AlsoExamine = bothFindings(c.AlsoExamine, f.sources.Findings)
	m.Sources(f.sources.States)
	for _, s := range f.file.Sources {
		f.log.Info("events are read from a source", "source", s.Name, "kind", s.Kind, "namespaces", namesOrAll(s.Namespaces))
	}
	return f.sources.Run
}
