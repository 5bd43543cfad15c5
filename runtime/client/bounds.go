package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// This file applies the limits of the deployment and the namespace to starts.

// NoTimeout is the ExecutionTimeout or RunTimeout of a start that disables the document's timeout and its configured default. A configured
// maximum still applies.
const NoTimeout = execution.NoTimeout

// bounded adds the settings of the namespace to a start, and refuses a start that exceeds the limits.
func (c *Client) bounded(ctx context.Context, i store.Instance, info *execution.Invocation, delay time.Duration) (err error) {
	if info.Settings, err = c.settings.Of(ctx, i.Namespace); err != nil {
		return err
	}
	if info.Settings.MaxExecutionTimeout == 0 && info.Settings.MaxRunTimeout == 0 {
		return nil
	}
	p, err := c.program(ctx, info)
	if err != nil {
		return err
	}
	work, err := c.store.Poll(ctx, i.Partition(c.store.Layout().Partitions), 1, false)
	if err != nil {
		return err
	}
	if excess := info.ExceededTimeout(p.Workflow, work.At, delay); excess != nil {
		return excessError(excess, i.Namespace)
	}
	return nil
}

// boundedFork applies the maximum timeouts of the namespace to a fork. Larger timeouts in its options are refused; larger timeouts
// inherited from the earlier run are reduced.
func (c *Client) boundedFork(ctx context.Context, namespace string, info *execution.Invocation) error {
	set, err := c.settings.Of(ctx, namespace)
	if err != nil || set.MaxExecutionTimeout == 0 && set.MaxRunTimeout == 0 {
		return err
	}
	info.Settings = settings.Settings{MaxExecutionTimeout: set.MaxExecutionTimeout, MaxRunTimeout: set.MaxRunTimeout}
	p, err := c.program(ctx, info)
	if err != nil {
		return err
	}
	work, err := c.store.Poll(ctx, store.Instance{Namespace: namespace}.Partition(c.store.Layout().Partitions), 1, false)
	if err != nil {
		return err
	}
	if info.Fork.Timeless { // but for the maximum
		info.ExecutionTimeout = NoTimeout
	}
	asked := *info
	asked.RunTimeout = 0 // the timeout is inherited from the earlier run
	if excess := asked.ExceededTimeout(p.Workflow, work.At, 0); excess != nil && !excess.Documents {
		return excessError(excess, namespace)
	}
	return nil
}

// boundedDeadline refuses a deadline of a run that leaves its scope more time than the maximum of its namespace.
func (c *Client) boundedDeadline(ctx context.Context, d *Description, set interpreter.SetDeadline) error {
	if set.Path != "" { // it is bounded by the enclosing scope
		return nil
	}
	limits, err := c.settings.Of(ctx, d.Instance.Namespace)
	if err != nil {
		return err
	}
	most, from := limits.MaxExecutionTimeout, d.State.StartedAt
	if set.Kind == interpreter.DeadlineRun {
		most = limits.MaxRunTimeout
	}
	for _, in := range d.State.Deadlines {
		if in.Kind == set.Kind && !in.Fixed && !in.Inherited {
			from = in.StartedAt
		}
	}
	last := from.Add(most)
	switch {
	case most == 0:
		return nil
	case set.At.IsZero():
		return refused(d.Instance, "must have a deadline: a maximum of %s is set for runs of the namespace %s", duration.Format(most), d.Instance.Namespace)
	case set.At.After(last):
		return refused(d.Instance, "cannot have a deadline after %s: a maximum of %s is set for runs of the namespace %s", clockTime(last), duration.Format(most), d.Instance.Namespace)
	}
	return nil
}

func excessError(e *execution.ExceededTimeout, namespace string) error {
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

// again reports whether a start matches an existing run, apart from settings for new runs that changed since, the trace, the actor, and the
// performer.
func (c *Client) again(ctx context.Context, i store.Instance, info execution.Invocation) (bool, error) {
	l, err := c.store.Load(ctx, i)
	if store.RefusedAs(err) == store.NoSuch {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	theirs, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return false, err
	}
	began := theirs.First()
	theirs.Workflow, theirs.Definition, theirs.Began = began.Workflow, began.Definition, nil
	info.Settings, info.TraceParent, info.Actor, info.Reserved, info.Cause = theirs.Settings, theirs.TraceParent, theirs.Actor, theirs.Reserved, theirs.Cause
	mine, err := json.Marshal(&info)
	if err != nil {
		return false, err
	}
	is, err := json.Marshal(theirs)
	return bytes.Equal(mine, is), err
}
