package control

import (
	"context"
	"fmt"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// EventError is an event that cannot be published.
type EventError struct {
	Number int // of the event, counted from 1
	Err    error
}

// Error says which and why.
func (e *EventError) Error() string {
	why := e.Err.Error()
	if fault := errors.AsError(e.Err); fault != nil {
		why = fault.Detail
	}
	return fmt.Sprintf("event %d: %s", e.Number, why)
}

// Unwrap returns why.
func (e *EventError) Unwrap() error { return e.Err }

// Publish brings CloudEvents to the runs that listen for them. All of them are checked before the first is published; one that cannot be is an
// *EventError.
func (c *Control) Publish(ctx context.Context, all []map[string]any) (api.Published, error) {
	return c.PublishTo(ctx, all, nil)
}

// PublishTo is Publish for some namespaces; nil is all of them.
func (c *Control) PublishTo(ctx context.Context, all []map[string]any, namespaces []string) (api.Published, error) {
	matched, full, started := newRunNames(), newRunNames(), newRunNames()
	done := api.Published{Matched: matched.all, Started: started.all}
	for n, event := range all {
		if err := c.engine.CheckEvent(event); err != nil {
			return done, &EventError{n + 1, err}
		}
	}
	for n, event := range all {
		report, err := c.engine.Publish(ctx, event, namespaces)
		if err != nil {
			return done, fmt.Errorf("event %d: %w", n+1, err)
		}
		done.Accepted++
		switch {
		case report.Repeated:
			done.Repeated++
		case len(report.Matched)+len(report.Full)+len(report.Started) > 0: // somebody has it, or should
		case report.Waits:
			done.Waiting++
		default:
			done.Unmatched++
		}
		matched.add(report.Matched)
		full.add(report.Full)
		started.add(report.Started)
		done.Matched, done.Full, done.Started = matched.all, full.all, started.all
	}
	return done, nil
}

// runNames are the names of runs, each once, in the order in which they came.
type runNames struct {
	all   []api.RunName
	known map[api.RunName]bool
}

func newRunNames() *runNames {
	return &runNames{all: []api.RunName{}, known: map[api.RunName]bool{}}
}

func (r *runNames) add(runs []store.Instance) {
	for _, i := range runs {
		if name := (api.RunName{Namespace: i.Namespace, ID: i.ID}); !r.known[name] {
			r.known[name], r.all = true, append(r.all, name)
		}
	}
}
