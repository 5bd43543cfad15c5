package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// This file holds starts to what is set for the deployment and the namespace.

// NoTimeout is the ExecutionTimeout or RunTimeout of a start that takes the document's away, and what is set in its place; a maximum
// that is set holds all the same.
const NoTimeout = execution.NoTimeout

// bounded adds what is set for the namespace to a start, and refuses one that asks for more than is allowed.
func (c *Client) bounded(ctx context.Context, i store.Instance, info *execution.Invocation, delay time.Duration) (err error) {
	if info.Settings, err = c.settings.Of(ctx, i.Namespace); err != nil {
		return err
	}
	if info.Settings.MaxExecutionTimeout == 0 && info.Settings.MaxRunTimeout == 0 {
		return nil
	}
	p, err := c.programs.Program(ctx, info.Definition)
	if err != nil {
		return err
	}
	work, err := c.store.Poll(ctx, i.Partition(c.store.Layout().Partitions), 1, false)
	if err != nil {
		return err
	}
	if excess := info.Excess(p.Workflow, work.At, delay); excess != nil {
		return excessError(excess, i.Namespace)
	}
	return nil
}

func excessError(e *execution.Excess, namespace string) error {
	what := "%s"
	switch {
	case e.Documents:
		what = "the document's %s"
	case e.Option == "deadline":
		what = "%s from now"
	}
	detail := fmt.Sprintf(what+" is more than the maximum of %s that is set for runs of the namespace %s", duration.Format(e.Value), duration.Format(e.Max), namespace)
	if e.Documents {
		detail += ": start it with a shorter one"
	}
	return &OptionError{Field: e.Option, Detail: detail}
}

// again reports whether a start is that of a run that is there, but for what was set meanwhile, which holds for new
// runs, for the trace that it belongs to, and for who asks.
func (c *Client) again(ctx context.Context, i store.Instance, info execution.Invocation) (bool, error) {
	l, err := c.store.Load(ctx, i)
	if store.RefusedAs(err) == store.NoSuch {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	theirs, err := execution.ParseInvocation(l.Invocation)
	if err != nil {
		return false, err
	}
	began := theirs.First()
	theirs.Workflow, theirs.Definition, theirs.Began = began.Workflow, began.Definition, nil
	info.Settings, info.TraceParent, info.Actor = theirs.Settings, theirs.TraceParent, theirs.Actor
	mine, err := json.Marshal(&info)
	if err != nil {
		return false, err
	}
	is, err := json.Marshal(theirs)
	return bytes.Equal(mine, is), err
}
