package control

import (
	"context"
	"fmt"
	"strings"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// EventError is an event that cannot be published.
type EventError struct {
	Number int // of the event, counted from 1
	Err    error
}

// Error returns the number of the event, and the reason.
func (e *EventError) Error() string { return fmt.Sprintf("event %d: %s", e.Number, e.Reason()) }

// Reason returns the reason.
func (e *EventError) Reason() string {
	if fault := errors.AsError(e.Err); fault != nil {
		return fault.Detail
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *EventError) Unwrap() error { return e.Err }

// RefusedEventsError contains the refused events of a batch, and the number of the published ones.
type RefusedEventsError struct {
	Refused   []*EventError
	Published int
}

// Error names the first few events.
func (e *RefusedEventsError) Error() string {
	const few = 5
	var all []string
	for _, one := range e.Refused[:min(few, len(e.Refused))] {
		all = append(all, one.Error())
	}
	if more := len(e.Refused) - few; more > 0 {
		all = append(all, fmt.Sprintf("%d more are refused", more))
	}
	if e.Published > 0 {
		all = append(all, fmt.Sprintf("%d of %d events are published", e.Published, e.Published+len(e.Refused)))
	}
	return strings.Join(all, "; ")
}

// Unwrap returns the errors of the events.
func (e *RefusedEventsError) Unwrap() (all []error) {
	for _, one := range e.Refused {
		all = append(all, one)
	}
	return all
}

// refuse returns the error of the refused events; nil without any.
func refuse(refused []*EventError, published int) error {
	if len(refused) == 0 {
		return nil
	}
	return &RefusedEventsError{refused, published}
}

// Publish brings CloudEvents to the runs that listen for them. All of them are checked before the first is published: if one cannot be published,
// none is. No event is published during the startup of this process. Then each event is published independently of the others. Refused events are a *RefusedEventsError. The events reach some namespaces; nil
// means all namespaces.
func (c *Control) Publish(ctx context.Context, all []map[string]any, namespaces []string) (api.Published, error) {
	matched, full, started := newRunNames(), newRunNames(), newRunNames()
	done := api.Published{Matched: matched.all, Started: started.all}
	if err := c.checkEvents(all); err != nil {
		return done, err
	}
	if err := c.Startup.wait(ctx); err != nil { // the schedule that waits for an event may not be deployed yet
		return done, err
	}
	var refused []*EventError
	for n, event := range all {
		report, err := c.engine.Publish(ctx, event, namespaces)
		if errors.As(err, new(*swrun.OtherEventError)) {
			refused = append(refused, &EventError{n + 1, err})
			continue
		}
		if err != nil {
			return done, fmt.Errorf("event %d: %w", n+1, err)
		}
		done.Accepted++
		switch {
		case report.Repeated:
			done.Repeated++
		case len(report.Matched)+len(report.Full)+len(report.Started) > 0: // a run or a schedule took it, or should have
		case report.Waits:
			done.Waiting++
		case len(report.Refused) > 0:
		default:
			done.Unmatched++
		}
		done.Refused = append(done.Refused, api.NewRefusedEvents(report.Refused)...)
		matched.add(report.Matched)
		full.add(report.Full)
		started.add(report.Started)
		done.Matched, done.Full, done.Started = matched.all, full.all, started.all
	}
	return done, refuse(refused, done.Accepted)
}

// checkEvents returns the events that cannot be published, regardless of the events that were published before.
func (c *Control) checkEvents(all []map[string]any) error {
	var refused []*EventError
	for n, event := range all {
		if err := c.engine.CheckEvent(event); err != nil {
			refused = append(refused, &EventError{n + 1, err})
		}
	}
	return refuse(refused, 0)
}

// runNames are the names of runs, each once, in the order of their first occurrence.
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
