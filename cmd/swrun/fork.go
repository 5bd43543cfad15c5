package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

const (
	forkExample = `  swrun fork order-7                                  # from the task at which it failed
  swrun deploy order.yaml && swrun fork order-7 --version latest
  swrun fork order-7 --from /do/1/pay -i amount:=5 --dry-run
  swrun fork --where 'workflow=demo/order:1.0.0 status=faulted' --version latest`
	forkLong = `The fork has the data of the run at the beginning of the task, and the time that its scopes had left then. Completed tasks in other branches of
a fork task stay completed. The command lists the calls that are made again; calls that did not succeed keep their idempotency keys. A run is
continued once: a second fork is refused, and skipped with --where, unless --again is given. With another version, the tasks in progress must be
at the same pointers.`
)

func (p *program) forkCommand() *cobra.Command {
	f, chosen, r := &operateFlags{remote: true}, &selectFlags{}, api.ForkRequest{}
	var input, given []string // of the task
	var secrets, timeout string
	cmd := &cobra.Command{
		Use: "fork RUN...", Short: "Continue from a task of a run as another run; the run itself does not change",
		Example: forkExample, Long: forkLong,
		Args: chosen.arguments, RunE: verb(func(args []string) (err error) {
			if several := len(args) != 1; several && (r.ID != "" || len(input)+len(given) > 0) {
				return usagef("name one run", "--id, --input and --context are for one run")
			}
			if r.Input, err = p.forkData(input); err != nil {
				return err
			}
			if r.Context, err = p.forkData(given); err != nil {
				return err
			}
			if r.ExecutionTimeout, err = timeoutSpan(timeout); err != nil {
				return err
			}
			if p.secrets, err = readSecrets(p.env, secrets); err != nil {
				return err
			}
			chosen.yes = chosen.yes || r.DryRun
			return p.operate(f, func(ctx context.Context, o *operation) error {
				if len(args) == 1 {
					return o.fork(ctx, args[0], r)
				}
				return o.forkSelected(ctx, chosen, args, r)
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	chosen.add(cmd)
	addForkTimes(cmd, &r, &timeout)
	addForkData(cmd, &r, &input, &given)
	cmd.Flags().StringVar(&secrets, "secrets", "", "file or folder of the secrets that the run reads, name: value (also SWRUN_SECRET_<NAME>); the replay of its history needs them")
	return cmd
}

// addForkData adds the flags about the identity of a fork, and about its data.
func addForkData(cmd *cobra.Command, r *api.ForkRequest, input, given *[]string) {
	flags := cmd.Flags()
	flags.StringVar(&r.ID, "id", "", "id of the fork (default the id of the run with a number)")
	flags.StringVar(&r.From, "from", "", "pointer of the task from which the fork continues, such as /do/1/pay (default the task that failed)")
	flags.StringVar(&r.Version, "version", "", "version of the workflow, or latest (default the definition of the run)")
	flags.StringArrayVarP(input, "input", "i", nil, "input of the task: name=TEXT, name:=JSON, JSON, @FILE, or - for standard input (default its former input)")
	flags.StringArrayVar(given, "context", nil, "$context of the task, in the same forms (default its former $context)")
	flags.BoolVar(&r.Again, "again", false, "fork a run again that another run continues or continued; calls are made again, with new idempotency keys")
	flags.BoolVar(&r.DryRun, "dry-run", false, "print the task from which each fork would continue and the calls that it would make again, and start nothing")
}

// addForkTimes adds the flags about the time of a fork.
func addForkTimes(cmd *cobra.Command, r *api.ForkRequest, timeout *string) {
	flags := cmd.Flags()
	flags.StringVar(timeout, "execution-timeout", "", "timeout of the fork (default the time that the run had left)")
	flags.StringVar(&r.Deadline, "deadline", "", "time at which the fork ends at the latest, for example 2026-12-24T18:00:00Z")
	flags.BoolVar(&r.NoDeadline, "no-deadline", false, "give the fork no deadline")
}

// timeoutSpan reads the value of --execution-timeout; an empty text is no timeout.
func timeoutSpan(text string) (api.Span, error) {
	d, err := parseTimeout("--execution-timeout", text)
	return api.Span{Duration: d, Given: text != "", None: d == client.NoTimeout}, err
}

// forkData reads the input of the task from which a fork continues, or its $context; nil if it is not given.
func (p *program) forkData(forms []string) (*any, error) {
	if len(forms) == 0 {
		return nil, nil
	}
	bounds, err := p.limits(nil)
	if err != nil {
		return nil, err
	}
	v, err := readInput(p.streams, forms, bounds)
	return &v, err
}

func (o *operation) fork(ctx context.Context, name string, r api.ForkRequest) error {
	i, err := o.instance(ctx, name)
	if err != nil {
		return err
	}
	forked, err := o.deployment.Fork(ctx, i, r)
	if err != nil {
		return refusalError(err)
	}
	if o.flags.output != "human" {
		return o.print(forked)
	}
	text, says := forked.ID+"\n", forkText(forked)
	if r.DryRun { // the requested output
		text, says = fmt.Sprintf("%s would continue as %s\n", i.ID, forked.ID)+says, ""
	}
	if err := write(o.out, text); err != nil {
		return err
	}
	fmt.Fprint(o.err, o.errStyle().Text(says))
	return o.reportUnworked(ctx, !r.DryRun)
}

// forkSelected forks the chosen runs.
func (o *operation) forkSelected(ctx context.Context, chosen *selectFlags, args []string, r api.ForkRequest) error {
	forkAll := func(all []store.Instance, r api.ForkRequest) (forks []*api.Forked, failed []error) {
		forked, failed := o.deployment.ForkAll(ctx, all, r)
		for n := range forked {
			forks = append(forks, &forked[n])
		}
		return forks, failed
	}
	chosen.preview = func(all []store.Instance) error {
		dry := r
		dry.DryRun = true
		forks, failed := forkAll(all, dry)
		return o.previewForks(all, forks, failed)
	}
	runs, unknown, err := o.selected(ctx, chosen, args, "fork")
	if err != nil {
		return err
	}
	c := continuing{verb: "fork", skips: chosen.where != "", dry: r.DryRun}
	c.ask = func(some []store.Instance) ([]*api.Forked, []error) { return forkAll(some, r) }
	if o.flags.output == "human" {
		return cmp.Or(unknown, o.goOn(ctx, runs, c))
	}
	return cmp.Or(unknown, o.printForks(runs, c))
}

// printForks forks runs, and prints the forks as data.
func (o *operation) printForks(runs []store.Instance, c continuing) error {
	var first error
	all := []*api.Forked{}
	forks, failed := c.ask(runs)
	for n, err := range failed {
		switch {
		case err == nil:
			all = append(all, forks[n])
		case !c.skips || !isContinued(err):
			first = o.alsoFailed(first, refusalError(err))
		}
	}
	if err := o.print(all); err != nil {
		return err
	}
	return first
}

// forkText returns the text about the start of a fork, and the effects that it repeats.
func forkText(f api.Forked) string {
	from := "the start"
	if f.Task != "" {
		from = f.Task
	}
	return fmt.Sprintf("the fork continues from %s of %s\n", terminal.Printable(from), f.ForkedFrom) + repeatsText(f)
}

// repeatsText returns the text about the effects that a fork repeats.
func repeatsText(f api.Forked) string {
	var b strings.Builder
	for _, r := range f.Repeats {
		where := terminal.Printable(cmp.Or(r.Path, r.Pointer))
		if r.Run != "" {
			where += " of the child " + r.Run
		}
		if r.Called != "" {
			where += " (" + terminal.Printable(r.Called) + ")"
		}
		fmt.Fprintf(&b, "  again: %s %s, which %s, with %s\n", r.Kind, where, map[string]string{
			"succeeded": "succeeded before", "failed": "failed before", "unknown": "may have been performed before",
		}[r.Outcome], map[bool]string{true: "the same idempotency key", false: "another idempotency key"}[r.SameKey])
	}
	return b.String()
}
