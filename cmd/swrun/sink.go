package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) sinkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sink", Short: "List the sinks of events, and send or drop their dead letters",
		Example: `  swrun sink ls
  swrun sink dead-letters audit
  swrun sink retry audit
  swrun sink drop audit demo/order-7-12`,
		Long: `A server sends events to the sinks of its file (swrun serve --events FILE). An event that a sink refuses, or does not accept for long, becomes a
dead letter: it no longer blocks later events, and is kept until it is sent again or dropped. The last 200 dead letters of a sink are kept.`,
	}
	cmd.AddCommand(p.sinkListCommand(), p.deadLettersCommand(),
		p.sinkChange("retry SINK [EVENT...]", "Send dead letters again, all of a sink or some; the server of the sink does so within seconds", "  swrun sink retry audit\n  swrun sink retry audit demo/order-7-12",
			api.RetryDeadLetters()),
		p.sinkChange("drop SINK [EVENT...]", "Delete dead letters, all of a sink or some", "  swrun sink drop audit demo/order-7-12 --reason 'sent by hand'",
			api.DropDeadLetters()))
	group(cmd)
	return cmd
}

func (p *program) sinkListCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "ls", Short: "List the sinks of events",
		Example: "  swrun sink ls\n  swrun sink ls -o json --jq '.[] | select(.deadLetters != []) | .name'",
		Long:    "ACTIVE is yes if a server sends to the sink. A sink that is in no file any more is listed for 90 days.",
		Args:    exactly(), RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				all, err := remote.Ask(ctx, o.deployment, api.ListSinks(), &api.None{})
				if err != nil {
					return err
				}
				return o.printSinks(all)
			})
		}),
	}
	f.add(cmd, listForms()...)
	return cmd
}

func (o *operation) printSinks(all []api.Sink) error {
	return printList(o, all, func(s api.Sink) string { return s.Name }, func(all []api.Sink) error {
		table := terminal.NewTable(o.out, "SINK", "KIND", "ACTIVE", "DEAD LETTERS")
		for _, s := range all {
			table.Row(s.Name, s.Kind, map[bool]string{true: "yes", false: "no"}[s.Active], fmt.Sprint(len(s.DeadLetters)))
		}
		return table.Flush()
	})
}

func (p *program) deadLettersCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "dead-letters SINK", Short: "List the dead letters of a sink and their errors", Example: "  swrun sink dead-letters audit",
		Long: "EVENT is the argument of swrun sink retry and drop. AGAIN is yes if the event will be sent again.",
		Args: exactly("a sink"), RunE: verb(func(args []string) error {
			if err := checkNames(args[0]); err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error {
				all, err := remote.Ask(ctx, o.deployment, api.ListSinks(), &api.None{})
				if err != nil {
					return err
				}
				for _, s := range all {
					if s.Name == args[0] {
						return printList(o, s.DeadLetters, func(l api.DeadLetter) string { return l.ID }, o.deadLetterTable)
					}
				}
				return store.Refuse(store.NoSuch, p.now(), "sink %s", shorten.Quoted(args[0]))
			})
		}),
	}
	f.add(cmd, listForms()...)
	return cmd
}

func (o *operation) deadLetterTable(all []api.DeadLetter) error {
	table := terminal.NewTable(o.out, "EVENT", "TYPE", "SINCE", "AGAIN", "WHY")
	for _, l := range all {
		table.Row(l.ID, l.Type, l.At, map[bool]string{true: "yes", false: "no"}[l.Retry], l.Error)
	}
	return table.Flush()
}

// sinkChange is a verb about dead letters of a sink, which it prints.
func (p *program) sinkChange(use, short, example string, row api.Operation[api.SinkCommand, api.Sink]) *cobra.Command {
	f, reason := &operateFlags{makes: true, remote: true}, ""
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: atLeastOne("a sink"), RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				changed, err := remote.Ask(ctx, o.deployment, row, &api.SinkCommand{Name: args[0], Body: &api.DeadLetterChoice{IDs: args[1:], Reason: reason}})
				if err != nil {
					return err
				}
				if o.flags.output != "human" {
					return o.print(changed)
				}
				return o.printSinks([]api.Sink{changed})
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the log of the server")
	return cmd
}
