package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// lsFlags are the flags of ls.
type lsFlags struct {
	operateFlags
	filter client.Filter
	labels []string
	where  string
	limit  int
}

func (p *program) lsCommand() *cobra.Command {
	f := &lsFlags{}
	cmd := &cobra.Command{
		Use: "ls", Short: "List runs, the newest first",
		Example: `  swrun ls --status waiting
  swrun ls --workflow demo/order -o json`,
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error { return o.list(ctx, f) })
		}),
	}
	f.add(cmd, "human", "json", "yaml", "name")
	f.within(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Status, "status", "", "only this status: "+strings.Join(statuses(), ", "))
	flags.StringVar(&f.filter.Workflow, "workflow", "", "only runs of namespace/name or namespace/name:version")
	flags.StringVar(&f.filter.BusinessKey, "business-key", "", "only runs with this business key")
	flags.StringArrayVar(&f.labels, "label", nil, "only runs with this label, name=value (repeatable)")
	flags.StringVar(&f.where, "where", "", whereUsage)
	flags.IntVar(&f.limit, "limit", 50, "at most so many")
	return cmd
}

// statuses are what a run's status may be.
func statuses() []string {
	return []string{
		string(interpreter.StatusPending), string(interpreter.StatusRunning), string(interpreter.StatusWaiting), string(interpreter.StatusSuspended),
		string(interpreter.StatusCompleted), string(interpreter.StatusFaulted), string(interpreter.StatusCancelled), store.Quarantined,
	}
}

// parse completes the filter, and returns the conditions that the client does not know.
func (f *lsFlags) parse() (whereConditions, error) {
	labels, err := parseLabels(f.labels)
	if err != nil {
		return nil, err
	}
	chosen, err := parseWhere(f.where)
	if err != nil {
		return nil, err
	}
	if f.filter.Status != "" {
		err = oneOf("--status", f.filter.Status, statuses()...)
	}
	if f.filter.Workflow != "" && err == nil {
		err = checkRunsOf("--workflow", f.filter.Workflow)
		if err == nil && strings.ContainsAny(f.filter.Workflow, "*?[") {
			err = usagef("--where 'workflow=demo/*' takes patterns", "--workflow takes one workflow, got %q", f.filter.Workflow)
		}
	}
	f.filter.Namespace, f.filter.Labels = f.namespace, labels
	return chosen, cmp.Or(err, atLeast("--limit", f.limit, 1))
}

func (o *operation) list(ctx context.Context, f *lsFlags) error {
	chosen, err := f.parse()
	if err != nil {
		return err
	}
	var found []client.Found
	err = o.client.List(ctx, f.filter, func(r client.Found) bool {
		if chosen.matches(r) {
			found = append(found, r)
		}
		return len(found) <= f.limit
	})
	if err != nil {
		return err
	}
	if len(found) > f.limit {
		found = found[:f.limit]
		fmt.Fprintln(o.err, o.errStyle().Text(fmt.Sprintf("these are the newest %d, and there are more; --limit lists more of them", f.limit)))
	}
	switch f.output {
	case "name":
		for _, r := range found {
			fmt.Fprintln(o.out, r.Instance)
		}
		return nil
	case "human":
		return o.table(ctx, found)
	}
	all := []api.Run{}
	for _, r := range found {
		all = append(all, api.NewRun(r.Instance, r.Lifecycle, r.Invocation, r.Status()))
	}
	return o.print(all)
}

func parseLabels(given []string) (map[string]string, error) {
	var labels map[string]string
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(name) == "" || strings.TrimSpace(value) == "" {
			return nil, usagef("for example --label team=billing", "%q is not a label", text)
		}
		if _, twice := labels[name]; twice {
			return nil, usagef("", "the label %q is given twice", name)
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name] = value
	}
	return labels, nil
}

// table prints runs in columns; what is going on is read run by run.
func (o *operation) table(ctx context.Context, found []client.Found) error {
	w := terminal.NewTable(o.out, "RUN", "WORKFLOW", "STATUS", "AT", "AGE", "NEXT")
	for _, r := range found {
		at, next := "-", "-"
		if d, err := o.client.Describe(ctx, r.Instance); err == nil {
			at, next = describe.Where(d), describe.Next(d)
		}
		w.Row(r.Instance.ID, r.Invocation.Workflow.String(), r.Status(), at, terminal.Elapsed(o.now().Sub(r.Lifecycle.Created)), next)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return o.reportUnworked(ctx, slices.ContainsFunc(found, func(r client.Found) bool { return !r.Lifecycle.Status.Final() }))
}

// reportUnworked says on standard error that unfinished runs do not go on, if no worker is there.
func (o *operation) reportUnworked(ctx context.Context, open bool) error {
	if !open {
		return nil
	}
	if workers, err := o.store.Workers(ctx); err != nil || workers > 0 { // where they cannot be counted, doctor says why
		return nil
	}
	l := o.errStyle()
	_, err := fmt.Fprintln(o.err, l.Dim(l.Text(o.noWorker()+", swrun describe RUN shows more")))
	return err
}
