package client

import (
	"context"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// RetryOptions specify how a quarantined or failed run continues.
type RetryOptions struct {
	Reason  string // why, for the history of a run that is quarantined
	Version string // of the workflow, for a failed run: see ForkOptions
	Again   bool   // see ForkOptions
	Dry     bool   // changes nothing and only returns the plan
}

// Retry continues a quarantined run, and forks a failed run at the failed task: see Fork. It returns the fork; nil for a run that continues
// itself.
func (c *Client) Retry(ctx context.Context, i store.Instance, o RetryOptions) (*Forked, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return nil, err
	}
	final := l.Lifecycle.Status.Final()
	switch {
	case !final && l.Lifecycle.Reason != store.Quarantined:
		return nil, refused(i, "is not quarantined")
	case !final && o.Version != "":
		return nil, &OptionError{Field: "version", Detail: "is for runs that have failed; use migrate to continue a run in progress with another version"}
	case !final && o.Dry:
		return nil, nil
	case !final:
		err = c.command(ctx, i, store.VerbRetry, inbox.Message{Type: interpreter.EventRelease, Reason: o.Reason})
	}
	if !final {
		switch store.RefusedAs(err) {
		case store.Conflict:
			return nil, refused(i, "is not quarantined")
		case store.Closed: // concurrently
		default:
			return nil, err
		}
	}
	forked, err := c.Fork(ctx, i, ForkOptions{Version: o.Version, Again: o.Again, Dry: o.Dry})
	if err != nil {
		return nil, err
	}
	return &forked, nil
}
