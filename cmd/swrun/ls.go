package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/filter"
)

// lsFlags are the flags of ls.
type lsFlags struct {
	operateFlags
	status, workflow, businessKey string
	labels                        []string
	where                         string
	limit                         int
	count                         bool
	by                            string
}

func (p *program) lsCommand() *cobra.Command {
	f := &lsFlags{operateFlags: operateFlags{remote: true, looksOnly: true}}
	cmd := &cobra.Command{
		Use: "ls", Short: "List runs, newest first, or count them",
		Example: `  swrun ls --status waiting
  swrun ls --where 'reason=timed_out closed>=today' -o json
  swrun ls --count --by trouble,workflow,task,host --where 'attention=*'`,
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error { return o.list(ctx, f) })
		}),
	}
	f.add(cmd, listForms()...)
	f.within(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.status, "status", "", "status of the runs: "+strings.Join(filter.Statuses(), ", "))
	flags.StringVar(&f.workflow, "workflow", "", "workflow of the runs, [namespace/]name[:version]")
	flags.StringVar(&f.businessKey, "business-key", "", "business key of the runs")
	flags.StringArrayVar(&f.labels, "label", nil, "label of the runs, name=value (repeatable)")
	flags.StringVar(&f.where, "where", "", whereHelp())
	flags.IntVar(&f.limit, "limit", 50, "maximum number of runs")
	flags.BoolVar(&f.count, "count", false, "print the number of runs")
	flags.StringVar(&f.by, "by", "", "fields by which --count groups the runs, separated by commas: status, workflow, error, label.NAME, trouble, task, host and others")
	return cmd
}

// parse returns the runs that the flags choose.
func (f *lsFlags) parse(p *program) (control.Choice, error) {
	where, err := f.chosen(f.where), p.checkWhere(f.where)
	if err != nil {
		return where, err
	}
	labels, err := parseLabels(f.labels)
	if err != nil {
		return where, err
	}
	if f.workflow != "" {
		if f.workflow, err = f.qualified(f.workflow); err != nil {
			return where, err
		}
	}
	chosen := []struct{ flag, field, value string }{
		{"--status", "status", f.status}, {"--workflow", "workflow", f.workflow}, {"--business-key", "key", f.businessKey},
	}
	for name, value := range labels {
		chosen = append(chosen, struct{ flag, field, value string }{"--label", "label." + name, value})
	}
	for _, c := range chosen {
		one, err := equal(c.flag, c.field, c.value)
		if err != nil {
			return where, err
		}
		where.Where = strings.TrimSpace(where.Where + " " + one)
	}
	if _, err := filter.Group(f.by); f.by != "" && err != nil {
		return where, filterError("--by", err)
	}
	switch {
	case f.by != "" && !f.count:
		return where, usagef("add --count", "--by names the fields by which --count groups the runs")
	case f.count && f.output == "name":
		return where, usagef("leave out -o name", "--count prints no names")
	}
	return where, atLeast("--limit", f.limit, 1)
}

func (o *operation) list(ctx context.Context, f *lsFlags) error {
	where, err := f.parse(o.program)
	if err != nil {
		return err
	}
	if f.count {
		return o.count(ctx, where, f)
	}
	page, err := o.deployment.List(ctx, control.RunQuery{Choice: where, Limit: f.limit, Summary: f.output == "human"})
	if err != nil {
		return filterError("--where", err)
	}
	o.tellUnreadable(page.Unreadable)
	if page.Next != "" {
		o.tellMore("these are the newest %d, and there are more", len(page.Runs))
	}
	switch f.output {
	case "name":
		for _, r := range page.Runs {
			fmt.Fprintln(o.out, r.Instance())
		}
		return nil
	case "human":
		return o.table(ctx, page.Runs)
	}
	return o.print(page.Runs)
}

// count prints the number of runs: by the groups of -by, or all together.
func (o *operation) count(ctx context.Context, where control.Choice, f *lsFlags) error {
	counted, err := o.deployment.Count(ctx, where, f.by)
	if err != nil {
		return filterError("--where", err)
	}
	o.tellUnreadable(counted.Unreadable)
	switch {
	case f.output != "human":
		return o.print(counted)
	case f.by == "":
		_, err = fmt.Fprintln(o.out, counted.Count)
		return err
	}
	troubled := slices.Contains(strings.Split(f.by, ","), "trouble")
	heads := append(strings.Split(strings.ToUpper(f.by), ","), "RUNS")
	if troubled {
		heads = append(heads, "FIRST", "LAST")
	}
	w := terminal.NewTable(o.out, heads...)
	for _, g := range counted.Groups {
		w.Row(o.groupRow(g, troubled)...)
	}
	return w.Flush()
}

// groupRow returns a group of runs in columns; troubled adds columns for the begin of their trouble.
func (o *operation) groupRow(g api.Group, troubled bool) (row []string) {
	values := g.Values
	if len(values) == 0 {
		values = []string{g.Value}
	}
	for _, value := range values {
		row = append(row, cmp.Or(terminal.Printable(value), "-"))
	}
	row = append(row, strconv.Itoa(g.Count))
	for _, at := range []string{g.First, g.Last} {
		switch {
		case !troubled:
		case at == "":
			row = append(row, "-")
		default:
			row = append(row, terminal.Elapsed(o.now().Sub(api.ParseTime(at)))+" ago")
		}
	}
	return row
}

// tell prints a remark about a list on standard error.
func (o *operation) tell(format string, values ...any) {
	fmt.Fprintln(o.err, o.errStyle().Text(terminal.Printable(fmt.Sprintf(format, values...))))
}

// tellMore prints that --limit has cut a list.
func (o *operation) tellMore(format string, values ...any) {
	o.tell(format+"; --limit lists more of them", values...)
}

// tellUnreadable prints the number of runs that are neither listed nor counted because they cannot be read.
func (o *operation) tellUnreadable(n int) {
	if n > 0 {
		o.tell("%s cannot be read, and %s missing here: swrun doctor shows the reason", terminal.Counted(n, "run"), isOrAre(n))
	}
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
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

// table prints runs in columns.
func (o *operation) table(ctx context.Context, found []api.Run) error {
	w := terminal.NewTable(o.out, "RUN", "WORKFLOW", "STATUS", "AT", "AGE", "NEXT")
	for _, r := range found {
		w.Row(r.ID, r.Workflow, r.Status, r.Summary.At, terminal.Elapsed(o.now().Sub(api.ParseTime(r.CreatedAt))), r.Summary.Next)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return o.reportUnworked(ctx, slices.ContainsFunc(found, func(r api.Run) bool { return r.ClosedAt == "" }))
}

// reportUnworked prints on standard error that unfinished runs do not continue, if there is no worker.
func (o *operation) reportUnworked(ctx context.Context, open bool) error {
	if !open {
		return nil
	}
	if workers, err := remote.Ask(ctx, o.deployment, api.ListWorkers(), &api.None{}); err != nil || workedOn(workers) { // if unreadable, doctor reports why
		return nil
	}
	l := o.errStyle()
	_, err := fmt.Fprintln(o.err, l.Dim(l.Text(o.noWorker()+", swrun describe RUN shows more")))
	return err
}
