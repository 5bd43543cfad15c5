package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) troubleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trouble", Short: "List runs with trouble in groups, and acknowledge groups",
		Example: `  swrun trouble ls
  swrun trouble ack 3f9a1c77e0 --reason 'the bank is down until 6'
  swrun retry --where 'group=3f9a1c77e0 acknowledged=no' --yes`,
		Long: `A group consists of the runs that have the same error in the same task of the same workflow, and call the same host. The filter group=GROUP of
other verbs selects its runs.`,
	}
	cmd.AddCommand(
		p.troubleListCommand(),
		p.troubleChange("ack GROUP...", "Leave groups out of the list until the same trouble begins again", "  swrun trouble ack 3f9a1c77e0 --reason 'the bank is down until 6'",
			api.AcknowledgeTrouble()),
		p.troubleChange("unack GROUP...", "Remove the acknowledgements of groups", "  swrun trouble unack 3f9a1c77e0",
			api.UnacknowledgeTrouble()),
	)
	group(cmd)
	return cmd
}

func (p *program) troubleListCommand() *cobra.Command {
	f, where, all := &operateFlags{remote: true, looksOnly: true}, "", false
	cmd := &cobra.Command{
		Use: "ls", Short: "List the groups of runs with trouble, the largest first",
		Example: `  swrun trouble ls
  swrun trouble ls --all -n shop`,
		Long: `Lists runs that are quarantined, runs that retry a failed task, and failed runs without a fork. Acknowledged groups are left out until the same
trouble begins again; --all includes them.`,
		Args: exactly(), RunE: verb(func([]string) error {
			if err := p.checkWhere(where); err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error {
				t, err := remote.Ask(ctx, o.deployment, api.ListTrouble(), &api.TroubleQuery{ChoiceQuery: api.ChoiceQuery{Where: where, Namespace: f.namespace}, All: all})
				if err != nil {
					return filterError("--where", err)
				}
				return o.printTrouble(t)
			})
		}),
	}
	f.add(cmd, listForms()...)
	f.within(cmd)
	cmd.Flags().StringVar(&where, "where", "", whereHelp())
	cmd.Flags().BoolVar(&all, "all", false, "include acknowledged groups")
	return cmd
}

func (o *operation) printTrouble(t api.Trouble) error {
	o.tellUnreadable(t.Unreadable)
	switch o.flags.output {
	case "name", "human":
	default:
		return o.print(t)
	}
	if err := printList(o, t.Groups, func(g api.TroubleGroup) string { return g.Group }, o.troubleTable); err != nil || t.Acknowledged == 0 || o.flags.output == "name" {
		return err
	}
	_, err := fmt.Fprintln(o.err, o.errStyle().Text(fmt.Sprintf("%s acknowledged, and left out: --all lists them", terminal.Counted(t.Acknowledged, "group"))))
	return err
}

func (o *operation) troubleTable(all []api.TroubleGroup) error {
	table := terminal.NewTable(o.out, "GROUP", "TROUBLE", "WORKFLOW", "TASK", "HOST", "RUNS", "FIRST", "LAST", "ACKNOWLEDGED")
	for _, g := range all {
		row := []string{g.Group}
		for _, text := range []string{g.Trouble, g.Workflow, g.Task, g.Host} {
			row = append(row, terminal.Printable(cmp.Or(text, "-")))
		}
		row = append(row, strconv.Itoa(g.Runs))
		for _, at := range []string{g.First, g.Last} {
			ago := "-"
			if at != "" {
				ago = o.ago(at) + " ago"
			}
			row = append(row, ago)
		}
		table.Row(append(row, o.acknowledgedText(g))...)
	}
	return table.Flush()
}

// acknowledgedText returns the text about the acknowledgement of a group: actor, time, reason, and number of runs.
func (o *operation) acknowledgedText(g api.TroubleGroup) string {
	a := g.Acknowledged
	if a == nil {
		return "-"
	}
	text := fmt.Sprintf("%s, %s ago", terminal.Counted(g.Known, "run"), o.ago(a.At))
	if a.Actor != "" {
		text += " by " + a.Actor
	}
	if a.Reason != "" {
		text += " (" + shorten.To(a.Reason, maxGrant) + ")"
	}
	return terminal.Printable(text)
}

// troubleChange makes a command that changes groups of trouble, all given groups or none.
func (p *program) troubleChange(use, short, example string, row api.Operation[api.TroubleCommand, []api.TroubleGroup]) *cobra.Command {
	f, reason := &operateFlags{makes: true, remote: true}, ""
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: atLeastOne("a group"), RunE: verb(func(args []string) error {
			if err := checkNames(args...); err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error {
				done, err := remote.Ask(ctx, o.deployment, row, &api.TroubleCommand{Namespace: f.namespace, Body: api.TroubleChoice{Groups: args, Reason: reason}})
				if err != nil {
					return err
				}
				return printList(o, done, func(g api.TroubleGroup) string { return g.Group }, o.troubleTable)
			})
		}),
	}
	f.add(cmd, listForms()...)
	f.within(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "reason, which lists and the audit log show")
	return cmd
}
