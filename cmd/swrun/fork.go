package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
)

func (p *program) forkCommand() *cobra.Command {
	f, r := &operateFlags{remote: true}, api.ForkRequest{}
	var input, given []string // for the task
	var secrets, timeout string
	cmd := &cobra.Command{
		Use: "fork RUN", Short: "Go on from a task of a run as another run; the run itself stays as it is",
		Example: `  swrun fork order-7                                  # from the task at which it failed
  swrun deploy order.yaml && swrun fork order-7 --version latest
  swrun fork order-7 --from /do/1/pay -i amount:=5`,
		Long: `The fork has the data that the run had when the task began, and the time that its scopes had left then. Calls that come after that are made
again, with other idempotency keys: fork lists those of the run. On another version, the tasks in progress must stand at the same pointers.`,
		Args: exactly("a run"), RunE: verb(func(args []string) (err error) {
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
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.fork(ctx, args[0], r) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	flags := cmd.Flags()
	flags.StringVar(&secrets, "secrets", "", "file of the secrets that the run reads, name: value (also SWRUN_SECRET_<NAME>): its history is repeated")
	flags.StringVar(&r.ID, "id", "", "of the fork; default that of the run with a number")
	flags.StringVar(&r.From, "from", "", "the pointer of the task from which it goes on, such as /do/1/pay; default the one at which it failed")
	flags.StringVar(&r.Version, "version", "", "of the workflow, or latest; default the definition that the run has")
	flags.StringArrayVarP(&input, "input", "i", nil, "of that task: name=TEXT, name:=JSON, JSON, @FILE, or - for standard input; default the one that it had")
	flags.StringArrayVar(&given, "context", nil, "$context as that task sees it, in the same forms; default what it was")
	addForkTimes(cmd, &r, &timeout)
	return cmd
}

// addForkTimes adds the flags about the time of a fork.
func addForkTimes(cmd *cobra.Command, r *api.ForkRequest, timeout *string) {
	flags := cmd.Flags()
	flags.StringVar(timeout, "execution-timeout", "", "for the fork, in the place of the time that the run had left")
	flags.StringVar(&r.Deadline, "deadline", "", "the same, for example 2026-12-24T18:00:00Z")
	flags.BoolVar(&r.NoDeadline, "no-deadline", false, "the fork has all the time")
}

// timeoutSpan reads the value of --execution-timeout; an empty one is none that is given.
func timeoutSpan(text string) (api.Span, error) {
	d, err := parseTimeout("--execution-timeout", text)
	return api.Span{Duration: d, Given: text != "", None: d == client.NoTimeout}, err
}

// forkData reads the input of the task from which a fork goes on, or its $context; nil if none is given.
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
	if err := write(o.out, forked.ID+"\n"); err != nil {
		return err
	}
	l := o.errStyle()
	fmt.Fprint(o.err, l.Text(forkText(forked)))
	return o.reportUnworked(ctx, true)
}

// forkText says from where a fork goes on, and which effects come again.
func forkText(f api.Forked) string {
	var b strings.Builder
	from := "the start"
	if f.Task != "" {
		from = f.Task
	}
	fmt.Fprintf(&b, "it goes on from %s of %s\n", terminal.Printable(from), f.ForkedFrom)
	for _, r := range f.Repeats {
		fmt.Fprintf(&b, "  again: %s %s, which %s\n", r.Kind, terminal.Printable(r.Pointer), map[string]string{
			"succeeded": "has succeeded before", "failed": "has failed before", "unknown": "may have been performed before",
		}[r.Outcome])
	}
	return b.String()
}
