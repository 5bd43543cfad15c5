package control

import (
	"context"
	"fmt"
	"slices"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// Verb is a command to one run or to many.
type Verb struct {
	Name    string
	For     string // an example of a status in which runs accept it
	Ends    bool   // the run
	Takes   bool   // a reason
	Reverts bool   // it reverts another verb, and can be without effect
	Send    func(c *client.Client, ctx context.Context, all []store.Instance, reason string) []error
}

// Verbs returns all verbs.
func Verbs() []Verb {
	return []Verb{
		{"cancel", "waiting", true, true, false, each((*client.Client).Cancel)},
		{"terminate", "waiting", true, true, false, each((*client.Client).Terminate)},
		{"suspend", "waiting", false, true, true, each((*client.Client).Suspend)},
		{"resume", "suspended", false, true, true, each((*client.Client).Resume)},
		{"retry", "quarantined", false, true, false, each(func(c *client.Client, ctx context.Context, i store.Instance, reason string) error {
			_, err := c.Retry(ctx, i, client.RetryOptions{Reason: reason})
			return err
		})},
		{"delete", "completed", false, false, false, func(c *client.Client, ctx context.Context, all []store.Instance, _ string) []error {
			return c.DeleteAll(ctx, all)
		}},
	}
}

// RetryNow is the verb for runs whose tasks wait for their next attempt.
func RetryNow() Verb {
	return Verb{string(store.VerbRetryNow), "waiting", false, true, false, each((*client.Client).RetryNow)}
}

// VerbNamed returns the verb of a name.
func VerbNamed(name string) (Verb, bool) {
	all := Verbs()
	n := slices.IndexFunc(all, func(v Verb) bool { return v.Name == name })
	if n < 0 {
		return Verb{}, false
	}
	return all[n], true
}

// each returns the function that sends a command for one run to several runs concurrently.
func each(send func(*client.Client, context.Context, store.Instance, string) error) func(*client.Client, context.Context, []store.Instance, string) []error {
	return func(c *client.Client, ctx context.Context, all []store.Instance, reason string) []error {
		return client.ForEach(all, func(i store.Instance) error { return send(c, ctx, i, reason) })
	}
}

// RefusedError reports that a run in its current state does not accept a verb.
type RefusedError struct {
	Verb   Verb
	Run    store.Instance
	Detail string // the run demo/one is completed
	Help   string // the states for the verb, or the verb that must come first
	err    error
}

func (e *RefusedError) Error() string { return e.Detail }

// Unwrap returns the store's refusal.
func (e *RefusedError) Unwrap() error { return e.err }

// Send sends a command to several runs. It returns the outcomes and the errors, both at the same positions; the error of a run whose state forbids
// the command is a *RefusedError. After an error of the store itself (IsOutage), the later runs may not have got the command.
func (c *Control) Send(ctx context.Context, v Verb, all []store.Instance, reason string) ([]api.Outcome, []error) {
	outcomes := c.accepted(ctx, v, all) // before the commands, which change the state
	failed := v.Send(c.client, ctx, all, reason)
	for n, err := range failed {
		if err != nil {
			failed[n] = c.refusal(ctx, v, all[n], err)
		}
	}
	return outcomes, failed
}

// accepted returns the outcomes of runs that accept a verb in their current state.
func (c *Control) accepted(ctx context.Context, v Verb, all []store.Instance) []api.Outcome {
	outcomes, _ := eachOf(all, func(i store.Instance) (o api.Outcome, _ error) {
		o = api.Outcome{Run: i.String(), Outcome: api.OutcomeAccepted}
		if !v.Reverts {
			return o, nil
		}
		if d, err := c.client.Describe(ctx, i); err == nil { // the command reports the error
			o.NoEffect = d.NoEffect(v.Name)
		}
		return o, nil
	})
	return outcomes
}

// Check returns the outcomes and the errors that Send would return for the current states of the runs. It changes nothing.
func (c *Control) Check(ctx context.Context, v Verb, all []store.Instance) ([]api.Outcome, []error) {
	return c.accepted(ctx, v, all), client.ForEach(all, func(i store.Instance) error {
		d, err := c.client.Describe(ctx, i)
		if v.Name == client.VerbDelete && store.RefusedAs(err) == store.NoSuch { // a missing run needs no deletion
			return nil
		}
		if err != nil {
			return err
		}
		if why := d.Refuses(v.Name); why != nil {
			return c.refusal(ctx, v, i, why)
		}
		return nil
	})
}

// IsOutage reports whether an error means that the store accepts no commands. A refusal concerns only one run.
func IsOutage(err error) bool {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem.Status >= 500 && !IsDamage(err)
	}
	return err != nil && store.RefusedAs(err) == "" && !IsDamage(err) && !errors.As(err, new(*client.OptionError)) && errors.AsError(err) == nil
}

// IsDamage reports whether an error is about stored data that cannot be read. It does not concern other runs.
func IsDamage(err error) bool {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem.Name() == "unreadable"
	}
	return store.IsDamage(err)
}

// help names the runs that the verb is for.
func (v Verb) help() string {
	if v.Name == string(store.VerbRetry) {
		return "retry is for quarantined and failed runs; swrun retry --now, or retry-now, is for runs with a task that waits for its next attempt"
	}
	return v.Name + " is for runs that are " + v.For
}

// refusal returns the error of a run that refuses a command, with the state of the run.
func (c *Control) refusal(ctx context.Context, v Verb, i store.Instance, err error) error {
	if store.RefusedAs(err) != store.Conflict || errors.As(err, new(*client.ContinuedError)) {
		return err
	}
	l, loading := c.store.Load(ctx, i)
	if loading != nil {
		return err
	}
	found := filter.Run{Instance: i, Lifecycle: l.Lifecycle}
	e := &RefusedError{Verb: v, Run: i, Detail: fmt.Sprintf("the run %s is %s", i, found.Status()), Help: v.help(), err: err}
	if v.Name != client.VerbDelete {
		return e
	}
	e.Help = "end it first, with cancel or terminate"
	d, err := c.client.Describe(ctx, i)
	if err != nil {
		return e
	}
	for _, verb := range []store.Verb{store.VerbTerminate, store.VerbCancel} {
		if slices.Contains(d.Commands, verb) { // the run is about to end
			e.Detail = fmt.Sprintf("%s: its %s waits for a worker", e.Detail, verb)
			e.Help = "wait for its end, and delete it then"
			break
		}
	}
	return e
}
