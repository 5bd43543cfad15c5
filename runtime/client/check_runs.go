package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// RunsCheck reports the effect of deploying a definition on the runs in progress. They continue with their definition, and some can migrate
// to the new one.
type RunsCheck struct {
	To       execution.Pinned
	Deployed bool // exactly this is deployed already
	Runs     int  // runs that did not end, with another definition of the workflow
	Ready    int  // runs that can migrate from their present position
	Refused  []Obstacle
	Versions []Group // of the runs, the most runs first
}

// Obstacle is why some runs cannot migrate.
type Obstacle struct {
	Reason   string
	Runs     int
	Examples []store.Instance // the first of them
}

// maxExamples is how many runs are named for each obstacle.
const maxExamples = 5

// CheckRuns finds out which runs in progress could migrate to a definition, and changes nothing. Another definition that is deployed under
// its name and version is refused as a Conflict.
func (c *Client) CheckRuns(ctx context.Context, d definition.Definition, pointers interpreter.PointerMap) (r RunsCheck, err error) {
	if r.To.Workflow, err = d.Reference(); err == nil {
		err = c.CheckGranted(ctx, d)
	}
	if err != nil {
		return r, err
	}
	r.To.Definition = d.Digest()
	_, deployed, err := definition.Resolve(ctx, c.store, r.To.Workflow)
	switch {
	case store.RefusedAs(err) == store.NoSuch:
	case err != nil:
		return r, err
	case deployed != r.To.Definition:
		return r, &store.Refusal{Code: store.Conflict, Detail: "workflow " + r.To.Workflow.String(), Reason: "is deployed already, and is another document"}
	default:
		r.Deployed = true
	}
	to, err := c.programs.Compile(d)
	if err != nil {
		return r, err
	}
	runs, err := c.inProgress(ctx, &r)
	if err != nil {
		return r, err
	}
	return r, c.checkAll(ctx, runs, &r, func(d *Description) error { return d.moves(r.To, to, pointers) })
}

// inProgress returns the runs in progress with other definitions of a workflow, and counts them by version.
func (c *Client) inProgress(ctx context.Context, r *RunsCheck) (runs []store.Instance, err error) {
	of, err := filter.Equal("workflow", r.To.Workflow.Namespace+"/"+r.To.Workflow.Name)
	if err != nil {
		return nil, err
	}
	versions := map[string]int{}
	err = c.Each(ctx, of, func(run *filter.Run) bool {
		if !run.Lifecycle.Status.Final() && run.Invocation.Definition != r.To.Definition {
			runs = append(runs, run.Instance)
			versions[run.Invocation.Workflow.Version]++
		}
		return true
	})
	for version, n := range versions {
		r.Versions = append(r.Versions, Group{Values: []string{version}, Runs: n})
	}
	slices.SortFunc(r.Versions, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Runs, a.Runs), slices.Compare(a.Values, b.Values)) })
	return runs, err
}

// checkAll counts the results of checking each run. Runs that end during the check are not counted.
func (c *Client) checkAll(ctx context.Context, runs []store.Instance, r *RunsCheck, check func(*Description) error) error {
	ended := errors.New("it has ended")
	refused := ForEach(runs, func(i store.Instance) error {
		d, err := c.standing(ctx, i)
		switch {
		case store.RefusedAs(err) == store.NoSuch || err == nil && d.Lifecycle.Status.Final():
			return ended
		case err != nil:
			return err
		}
		return check(d)
	})
	obstacles := map[string]*Obstacle{}
	for n, err := range refused {
		var refusal *store.Refusal
		switch {
		case errors.Is(err, ended):
			continue
		case err == nil:
			r.Ready++
		case errors.As(err, &refusal) && refusal.Code == store.Conflict:
			if obstacles[refusal.Reason] == nil {
				obstacles[refusal.Reason] = &Obstacle{Reason: refusal.Reason}
			}
			o := obstacles[refusal.Reason]
			if o.Runs++; len(o.Examples) < maxExamples {
				o.Examples = append(o.Examples, runs[n])
			}
		default:
			return err
		}
		r.Runs++
	}
	for _, o := range obstacles {
		r.Refused = append(r.Refused, *o)
	}
	slices.SortFunc(r.Refused, func(a, b Obstacle) int { return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Reason, b.Reason)) })
	return nil
}

// stored returns a run as it is stored, and how it was started.
func (c *Client) stored(ctx context.Context, i store.Instance) (l store.Loaded, info *execution.Invocation, err error) {
	if l, err = c.store.Load(ctx, i); err == nil {
		info, err = execution.InvocationOf(i, l.Invocation)
	}
	return l, info, err
}

// standing returns the position of a run, without the rest of its description.
func (c *Client) standing(ctx context.Context, i store.Instance) (*Description, error) {
	l, info, err := c.stored(ctx, i)
	if err != nil {
		return nil, err
	}
	d := &Description{Instance: i, Lifecycle: l.Lifecycle, Invocation: info, State: info.NewState(i)}
	if d.Program, err = c.program(ctx, info); err != nil || l.State.Head == nil {
		return d, err
	}
	d.State, err = info.Restore(nil, i, l.State)
	return d, err
}
