package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/store"
)

// This file finds the run that a name on the command line refers to.

const lastRun = "@last"

// runArgument is the help on RUN of verbs that only read a run; the others need the whole id.
const runArgument = "RUN is an id, namespace/id, @last, or the beginning of an id if only one run has such an id."

// instance returns the run with exactly the id name, or @last. Verbs that change a run, or that scripts wait for, use it: the beginning of an id may
// be the id of a run that does not exist yet, or any more.
func (o *operation) instance(ctx context.Context, name string) (store.Instance, error) {
	exact, prefixed, err := o.find(ctx, name)
	if err == nil && len(exact) == 0 {
		err = o.noRun(name, prefixed)
	}
	if err != nil {
		return store.Instance{}, err
	}
	return single(name, exact)
}

// named returns the runs with exactly the ids names. A name of no run or of several runs, or of a damaged run, is reported, and does not affect the
// others: the verb then ends with unknown.
func (o *operation) named(ctx context.Context, names []string) (all []store.Instance, unknown, err error) {
	for _, name := range names {
		i, err := o.instance(ctx, name)
		var wrong *exitError
		switch {
		case errors.As(err, &wrong) && (wrong.code == exitNotFound || wrong.code == exitUsage), control.IsDamage(err):
			unknown = o.alsoFailed(unknown, refusalError(err))
		case err != nil:
			return nil, nil, err
		default:
			all = append(all, i)
		}
	}
	return all, unknown, nil
}

// lookUp returns the run that a name refers to, for a verb that only reads it: the run with exactly this id or, if there is none, the only run whose
// id begins with it, which is reported.
func (o *operation) lookUp(ctx context.Context, name string) (store.Instance, error) {
	exact, prefixed, err := o.find(ctx, name)
	if err == nil && len(exact)+len(prefixed) == 0 {
		err = o.noRun(name, nil)
	}
	if err != nil {
		return store.Instance{}, err
	}
	if len(exact) > 0 {
		return single(name, exact)
	}
	i, err := single(name, prefixed)
	if err == nil {
		l := o.errStyle()
		fmt.Fprintln(o.err, l.Text(fmt.Sprintf("%s is short for %s, the only run whose id begins so", terminal.Printable(name), terminal.Printable(i.String()))))
	}
	return i, err
}

// find returns the runs with exactly the id name, or else the runs whose id begins with it.
func (o *operation) find(ctx context.Context, name string) (exact, prefixed []store.Instance, err error) {
	if name == lastRun {
		newest, err := o.deployment.Select(ctx, o.flags.chosen(""), 1)
		if err == nil && len(newest.Runs) == 0 {
			o.tellUnreadable(newest.Unreadable)
			err = &exitError{code: exitNotFound, message: "there is no run yet in " + o.at}
		}
		return newest.Runs, nil, err
	}
	if err := o.checkName(name); err != nil {
		return nil, nil, err
	}
	var among []string // a namespace in the name takes precedence over SWRUN_NAMESPACE
	if !strings.Contains(name, "/") {
		among = o.flags.chosen("").Namespaces
	}
	found, err := o.deployment.Find(ctx, name, among)
	return instances(found.Exact), instances(found.Begun), err
}

// instances returns the runs of names in an answer of a deployment.
func instances(names []string) (all []store.Instance) {
	for _, name := range names {
		all = append(all, store.InstanceOf(name))
	}
	return all
}

// checkName refuses a name that can be neither an id nor the beginning of one.
func (o *operation) checkName(name string) error {
	const hint = "a run is named by its id, by namespace/id, or @last"
	if namespace, _, full := strings.Cut(name, "/"); full {
		if err := o.flags.contradicts(namespace, name); err != nil {
			return err
		}
	}
	if control.IsRunName(name) {
		return nil
	}
	return usagef(hint, "%q cannot be a run", shorten.To(name, 150))
}

// noRun returns the error of a name that no run has. The hint names runs whose ids begin with it.
func (o *operation) noRun(name string, prefixed []store.Instance) error {
	hint := "swrun ls" + o.flags.target() + " lists the runs"
	if len(prefixed) > 0 {
		hint = "this needs the whole id; ids that begin so: " + names(prefixed)
	}
	return &exitError{code: exitNotFound, message: fmt.Sprintf("there is no run %q in %s", name, o.at), hint: hint}
}

func single(name string, found []store.Instance) (store.Instance, error) {
	if len(found) > 1 {
		return store.Instance{}, usagef("name it in full: "+names(found), "%q may mean %s", name, terminal.Counted(len(found), "run"))
	}
	return found[0], nil
}

// shownNames is the maximum number of runs in a hint.
const shownNames = 5

func names(found []store.Instance) string {
	var all []string
	for _, i := range found[:min(len(found), shownNames)] {
		all = append(all, i.String())
	}
	if more := len(found) - shownNames; more > 0 {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}
