package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) eventsDeadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dead", Short: "List, publish or drop the messages of sources that could not be published",
		Example: `  swrun events dead ls
  swrun events dead get orders/7d3f0c5a9b1e2468
  swrun events dead retry orders --reason 'the other id is free again'`,
		Long: `A server (swrun serve --events FILE) keeps in the store each message of a broker that contains no event, or an event that cannot be delivered.
For each source it keeps the newest 100 messages, up to 64 KiB of each, for 90 days. The server acknowledges these messages to the broker, so that
they do not block later ones.`,
	}
	cmd.AddCommand(p.eventsDeadListCommand(), p.eventsDeadGetCommand(),
		p.eventsDeadChange(words{"retry SOURCE|ID...", "Publish messages that could not be published, all of a source or some", "  swrun events dead retry orders\n  swrun events dead retry orders/7d3f0c5a9b1e2468", "published"}, api.RetryDeadMessages()),
		p.eventsDeadChange(words{"drop SOURCE|ID...", "Delete messages that could not be published, all of a source or some", "  swrun events dead drop orders --reason 'a test of the sender'", "dropped"}, api.DropDeadMessages()))
	group(cmd)
	return cmd
}

func (p *program) eventsDeadListCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "ls [SOURCE]", Short: "List the messages of sources that could not be published, and why",
		Example: "  swrun events dead ls\n  swrun events dead ls orders -o json --jq '.[].error'",
		Long:    "With -n NAMESPACE, the list contains only the messages of sources whose events reach that namespace and no other.",
		Args:    atMostOne, RunE: verb(func(args []string) error {
			source := append(args, "")[0]
			return p.operate(f, func(ctx context.Context, o *operation) error {
				all, err := remote.Ask(ctx, o.deployment, api.ListDeadMessages(), &api.DeadMessageList{AudienceQuery: f.audience(), Source: source})
				if err != nil {
					return err
				}
				o.tellForgotten(all)
				return printList(o, all, func(m api.DeadMessage) string { return m.ID }, func(all []api.DeadMessage) error {
					table := terminal.NewTable(o.out, "ID", "LAST", "TIMES", "BYTES", "PLACE", "WHY")
					for _, m := range all {
						table.Row(m.ID, m.LastAt, strconv.Itoa(m.Times), strconv.Itoa(m.Bytes), m.Place, m.Error)
					}
					return table.Flush()
				})
			})
		}),
	}
	f.add(cmd, listForms()...)
	f.within(cmd)
	return cmd
}

// tellForgotten reports the sources whose older messages are not kept any more.
func (o *operation) tellForgotten(all []api.DeadMessage) {
	last := ""
	for _, m := range all { // the messages of a source follow each other
		if m.Forgotten > 0 && m.Source != last {
			o.tell("%s of the source %s made room for newer ones, and %s not kept", terminal.Counted(m.Forgotten, "older message"), m.Source, isOrAre(m.Forgotten))
		}
		last = m.Source
	}
}

func (p *program) eventsDeadGetCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "get ID", Short: "Show a message that could not be published, with its headers and its body",
		Example: "  swrun events dead get orders/7d3f0c5a9b1e2468\n  swrun events dead get orders/7d3f0c5a9b1e2468 --jq .body > event.json",
		Args:    exactly("the id of a message"), RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				m, err := remote.Ask(ctx, o.deployment, api.GetDeadMessage(), &api.DeadMessageName{AudienceQuery: f.audience(), ID: args[0]})
				if err != nil {
					return err
				}
				return o.print(m)
			})
		}),
	}
	f.add(cmd, "json", "yaml")
	f.within(cmd)
	return cmd
}

// words are the help text of a verb, and the word that the verb prints for a message that it has handled.
type words struct{ use, short, example, done string }

// eventsDeadChange is a verb that changes messages that could not be published, and prints the result of each.
func (p *program) eventsDeadChange(w words, row api.Operation[api.DeadMessageCommand, []api.DeadMessageResult]) *cobra.Command {
	f, reason := &operateFlags{remote: true}, ""
	cmd := &cobra.Command{
		Use: w.use, Short: w.short, Example: w.example,
		Long: "A name without a slash is a source, and selects all its messages. A message that cannot be published is kept, and the exit code is 4.",
		Args: atLeastOne("a source or the id of a message"), RunE: verb(func(args []string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				in := &api.DeadMessageCommand{AudienceQuery: f.audience(), Body: api.DeadMessageChoice{IDs: args, Reason: reason}}
				all, err := remote.Ask(ctx, o.deployment, row, in)
				if err != nil {
					return err
				}
				return o.printDeadMessages(all, w.done)
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the log of the server")
	return cmd
}

func (o *operation) printDeadMessages(all []api.DeadMessageResult, done string) error {
	refused := 0
	if o.flags.output != "human" {
		if err := o.print(all); err != nil {
			return err
		}
	}
	for _, r := range all {
		if !r.Done {
			refused++
		}
		switch {
		case o.flags.output != "human":
		case r.Done:
			fmt.Fprintln(o.out, terminal.Printable(r.ID+" "+done))
		default:
			fmt.Fprintln(o.out, terminal.Printable(r.ID+" is kept: "+r.Error))
		}
	}
	if refused > 0 {
		return &exitError{
			code: exitInput, message: fmt.Sprintf("%s of %d cannot be published", terminal.Counted(refused, "message"), len(all)),
			hint: "swrun events dead get ID shows a message; correct it and publish it with swrun events publish, or delete it with swrun events dead drop",
		}
	}
	return nil
}
