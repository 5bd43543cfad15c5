package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// StartOptions returns the workflow and the options of a start in the form of the library. An invalid start is a *client.OptionError.
func (c *Control) StartOptions(r api.StartRequest) (definition.Reference, client.StartOptions, error) {
	reference, err := startedWorkflow(r)
	if err != nil {
		return reference, client.StartOptions{}, err
	}
	if r.Queue != nil {
		return reference, client.StartOptions{}, &client.OptionError{Field: "queue", Detail: "the workflow chooses its queue, and a start never does"}
	}
	if r.Delay.None {
		r.Delay = api.Span{}
	}
	o := client.StartOptions{
		ID: r.ID, OnDuplicate: client.ReadDuplicatePolicy(r.OnDuplicate), BusinessKey: r.BusinessKey, Labels: r.Labels,
		Delay: r.Delay.Duration, TimeoutsFromAccept: r.TimeoutStarts == "accept",
	}
	if o.OnDuplicate == "" {
		o.OnDuplicate = client.OnDuplicateReject
	}
	if o.ExecutionTimeout, err = timeout("executionTimeout", r.ExecutionTimeout, r.ExecutionTimeoutSeconds); err != nil {
		return reference, o, err
	}
	if o.RunTimeout, err = timeout("runTimeout", r.RunTimeout, r.RunTimeoutSeconds); err != nil {
		return reference, o, err
	}
	if o.Deadline, err = deadline(r.Deadline); err != nil {
		return reference, o, err
	}
	if by, late := o.Late(c.now()); late {
		return reference, o, &client.OptionError{Field: "deadline", Detail: fmt.Sprintf("%s is past, by %s", r.Deadline, duration.FormatRough(by))}
	}
	return reference, o, o.Check()
}

// startedWorkflow returns the workflow of a start: the version is a suffix of the name, or a member of its own.
func startedWorkflow(r api.StartRequest) (definition.Reference, error) {
	reference, err := definition.ParseReference(r.Workflow)
	if err != nil {
		return reference, &client.OptionError{Field: "workflow", Detail: err.Error()}
	}
	if r.Version == "" {
		return reference, nil
	}
	if strings.Contains(r.Workflow, ":") && reference.Version != r.Version {
		return reference, &client.OptionError{Field: "version", Detail: fmt.Sprintf("%q is not the version of the workflow %s", r.Version, reference)}
	}
	reference, err = definition.ParseReference(reference.Namespace + "/" + reference.Name + ":" + r.Version)
	if err != nil {
		err = &client.OptionError{Field: "version", Detail: err.Error()}
	}
	return reference, err
}

// timeout returns the value of an option that has two names.
func timeout(field string, option, alias api.Span) (time.Duration, error) {
	if alias.Given {
		if option.Given && option != alias {
			return 0, &client.OptionError{Field: field, Detail: "is given twice, with different values"}
		}
		option = alias
	}
	switch {
	case !option.Given:
		return 0, nil
	case option.None:
		return client.NoTimeout, nil
	}
	return option.Duration, client.CheckTimeout(field, option.Duration)
}

// deadline parses the latest end of an execution.
func deadline(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := client.ParseTime(text)
	if err != nil {
		err = client.NewOptionError("deadline", err)
	}
	return at, err
}

// Start starts a run, and describes it; again is true if the run existed already.
func (c *Control) Start(ctx context.Context, r api.StartRequest) (d api.Description, again bool, err error) {
	reference, options, err := c.StartOptions(r)
	if err != nil {
		return d, false, err
	}
	var input any
	if len(r.Input) > 0 {
		if input, err = expr.Decode(r.Input); err != nil {
			return d, false, &client.OptionError{Field: "input", Detail: err.Error()}
		}
	}
	var run *swrun.Run
	if r.Definition != nil {
		run, err = c.startDefinition(ctx, reference, *r.Definition, input, options)
	} else {
		err = c.Startup.deployed(ctx, func() (err error) {
			run, err = c.engine.Start(ctx, reference.String(), input, options)
			return err
		})
	}
	if err != nil {
		return d, false, err
	}
	if run.Again { // nothing was written
		d, err = c.describeStarted(ctx, run.Instance)
		return d, true, err
	}
	d, err = c.DescribeStarted(ctx, accepted(run.Instance, store.Lifecycle{Status: interpreter.StatusPending}, &execution.Invocation{Workflow: reference}))
	return d, false, err
}

// accepted describes a run that the store has accepted and that is not read again.
func accepted(i store.Instance, is store.Lifecycle, info *execution.Invocation) api.Description {
	return api.NewUnreadDescription(&filter.Run{Instance: i, Lifecycle: is, Invocation: info}, "the store has accepted the run, and the run could not be read afterwards")
}

// DescribeStarted describes a run whose start the store accepted a moment ago. If the run is gone, the error is a *LostStartError. If the run cannot
// be read, it returns what is known of the run: an error would hide that the run is stored.
func (c *Control) DescribeStarted(ctx context.Context, known api.Description) (api.Description, error) {
	d, err := c.describeStarted(ctx, known.Instance())
	if err == nil || errors.As(err, new(*LostStartError)) {
		return d, err
	}
	return known, nil
}

// describeStarted is DescribeStarted, with an error for a run that cannot be read.
func (c *Control) describeStarted(ctx context.Context, i store.Instance) (api.Description, error) {
	d, err := c.Describe(ctx, i)
	switch store.RefusedAs(err) {
	case store.NoSuch:
		return d, &LostStartError{i}
	case store.Newer:
		return c.describeUnread(ctx, i, err)
	}
	return d, err
}

// describeUnread describes a run whose definition or state only a newer swrun can read: with the time of its start, and the reason why the rest is
// missing.
func (c *Control) describeUnread(ctx context.Context, i store.Instance, why error) (api.Description, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return api.Description{}, err
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return api.Description{}, err
	}
	text := "a worker of a newer swrun performs it, since this one cannot read it: " + why.Error()
	return api.NewUnreadDescription(&filter.Run{Instance: i, Lifecycle: l.Lifecycle, Invocation: info}, text), nil
}

// LostStartError reports that a run is gone whose start the store has accepted: the store has lost it, for example in a failover, or a caller has
// deleted it.
type LostStartError struct{ Run store.Instance }

// Error returns the message.
func (e *LostStartError) Error() string {
	return fmt.Sprintf("the store accepted the start of the run %s, and does not have the run any more: a failover has lost it, or somebody has deleted it", e.Run)
}

// startDefinition starts a run of a sent definition, or returns the run of that id if it was started in the same way.
func (c *Control) startDefinition(ctx context.Context, r definition.Reference, sent api.Definition, input any, o client.StartOptions) (*swrun.Run, error) {
	d := sentDefinition(sent)
	if err := calledAs(r, d); err != nil {
		return nil, err
	}
	again := false
	if o.OnDuplicate = ""; o.ID != "" {
		var err error
		i := store.Instance{Namespace: r.Namespace, ID: o.ID}
		if input, again, err = c.client.TakeUp(ctx, i, input, &o); err != nil {
			return nil, err
		}
	}
	run, err := c.engine.StartDocument(ctx, d, input, o)
	if err != nil {
		return nil, err
	}
	run.Again = again
	if c.Perform != nil {
		c.Perform(run)
	}
	return run, nil
}
