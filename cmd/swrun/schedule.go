package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
)

func (p *program) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "List the schedules of deployed workflows, pause and trigger them",
		Example: `  swrun schedule ls
  swrun schedule describe demo/report
  swrun schedule pause demo/report --reason 'the source is down'
  swrun schedule trigger demo/report`,
		Long: `The latest version of a deployed document with a schedule starts automatically while a worker or a server is running.
metadata.swrun.schedule.missed specifies the runs for times that pass while neither is running: latest (one run, for the last time), all or skip.`,
	}
	body, trigger := new(api.CommandRequest), api.ScheduleTrigger{}
	pause := p.scheduleChange(&cobra.Command{
		Use: "pause WORKFLOW", Short: "Pause a schedule: the workflow does not start automatically", Example: "  swrun schedule pause demo/report --reason 'the source is down'",
	}, api.PauseSchedule(), body)
	pause.Flags().StringVar(&body.Reason, "reason", "", "reason, which lists show")
	resume := p.scheduleChange(&cobra.Command{
		Use: "resume WORKFLOW", Short: "End the pause of a schedule; the times that passed during the pause start no run", Example: "  swrun schedule resume demo/report",
	}, api.ResumeSchedule(), nil)
	cmd.AddCommand(p.scheduleListCommand(), p.scheduleDescribeCommand(), pause, resume, p.scheduleTriggerCommand(&trigger))
	group(cmd)
	return cmd
}

func (p *program) scheduleListCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "ls", Short: "List the schedules of the deployed workflows",
		Example: `  swrun schedule ls
  swrun schedule ls -o json --jq '.[] | select(.missed > 0) | .name'`,
		Long: "NEXT is the time of the next run; LAST is the time for which the last run was started. MISSED is the number of times that passed without a run.",
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				all, err := remote.AskAll(ctx, o.deployment, api.ListSchedules(), &api.ScheduleList{})
				if err != nil {
					return err
				}
				namespace := o.flags.namespace
				all = slices.DeleteFunc(all, func(s api.Schedule) bool { return namespace != "" && s.Namespace != namespace })
				return printList(o, all, api.Schedule.Key, o.scheduleTable)
			})
		}),
	}
	f.add(cmd, listForms()...)
	f.within(cmd)
	return cmd
}

func (o *operation) scheduleTable(all []api.Schedule) error {
	table := terminal.NewTable(o.out, "WORKFLOW", "KIND", "NEXT", "LAST", "MISSED")
	for _, s := range all {
		table.Row(s.Namespace+"/"+s.Name, s.Kind, scheduleNext(s), cmp.Or(s.Last, "-"), fmt.Sprint(s.Missed))
	}
	return table.Flush()
}

// tellSchedule prints when the workflow of a document starts automatically, if it does.
func (o *operation) tellSchedule(ctx context.Context, d *swrun.Document) error {
	if d.Workflow.Schedule == nil {
		return nil
	}
	s, err := o.schedule(ctx, api.WorkflowPath{Namespace: d.Workflow.Document.Namespace, Name: d.Workflow.Document.Name})
	switch {
	case api.IsNotFound(err), err == nil && s.Version != d.Workflow.Document.Version:
		fmt.Fprintln(o.out, "  it does not start automatically: a later version is deployed")
		return nil
	case err != nil:
		return err
	}
	fmt.Fprintf(o.out, "  it starts automatically (%s), next: %s\n", s.Kind, scheduleNext(s))
	return nil
}

func scheduleNext(s api.Schedule) string {
	switch {
	case s.Paused:
		return "paused"
	case s.Next == "" && s.Kind == "on":
		return "with an event"
	}
	return cmp.Or(s.Next, "-")
}

func (p *program) scheduleDescribeCommand() *cobra.Command {
	return p.scheduleVerb(&operateFlags{remote: true, looksOnly: true}, &cobra.Command{
		Use: "describe WORKFLOW", Short: "Show the next and last starts of a schedule, and the starts that failed",
		Example: "  swrun schedule describe demo/report",
	}, func(ctx context.Context, o *operation, of api.WorkflowPath) (api.Schedule, error) {
		return o.schedule(ctx, of)
	})
}

// schedule returns the schedule of a workflow.
func (o *operation) schedule(ctx context.Context, of api.WorkflowPath) (api.Schedule, error) {
	return remote.Ask(ctx, o.deployment, api.GetSchedule(), &of)
}

func (p *program) scheduleTriggerCommand(t *api.ScheduleTrigger) *cobra.Command {
	f, inputs := &operateFlags{makes: true, remote: true}, []string(nil)
	cmd := p.scheduleVerb(f, &cobra.Command{
		Use: "trigger WORKFLOW", Short: "Start a run now, besides the runs that the schedule starts",
		Example: "  swrun schedule trigger demo/report -i day=2026-05-04",
	}, func(ctx context.Context, o *operation, of api.WorkflowPath) (api.Schedule, error) {
		if len(inputs) > 0 {
			bounds, err := o.limits(nil)
			if err != nil {
				return api.Schedule{}, err
			}
			input, err := readInput(o.streams, inputs, bounds)
			if err != nil {
				return api.Schedule{}, err
			}
			t.Input = input
		}
		return remote.Ask(ctx, o.deployment, api.TriggerSchedule(), &api.ScheduleStart{WorkflowPath: of, Body: t})
	})
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil, "input of the run: JSON, @FILE, -, name=text, name:=json (repeatable; default {})")
	cmd.Flags().StringVar(&t.ID, "id", "", "id of the run (default a new id)")
	return cmd
}

type scheduleAction func(ctx context.Context, o *operation, of api.WorkflowPath) (api.Schedule, error)

func (p *program) scheduleChange(cmd *cobra.Command, row api.Operation[api.ScheduleCommand, api.Schedule], body *api.CommandRequest) *cobra.Command {
	return p.scheduleVerb(&operateFlags{makes: true, remote: true}, cmd, func(ctx context.Context, o *operation, of api.WorkflowPath) (api.Schedule, error) {
		return remote.Ask(ctx, o.deployment, row, &api.ScheduleCommand{WorkflowPath: of, Body: body})
	})
}

// scheduleVerb completes a verb about the schedule of one workflow, which it prints.
func (p *program) scheduleVerb(f *operateFlags, cmd *cobra.Command, do scheduleAction) *cobra.Command {
	cmd.Args, cmd.RunE = exactly("a workflow"), verb(func(args []string) error {
		return p.operate(f, func(ctx context.Context, o *operation) error {
			name, err := f.qualified(args[0])
			if err != nil {
				return err
			}
			r, err := definition.ParseReference(name)
			if err != nil || strings.Contains(name, ":") {
				return usagef("for example swrun "+strings.TrimPrefix(cmd.CommandPath(), "swrun ")+" demo/report", "%q is not a workflow: it must be namespace/name", name)
			}
			s, err := do(ctx, o, api.WorkflowPath{Namespace: r.Namespace, Name: r.Name})
			if err != nil {
				return err
			}
			if o.flags.output == "human" {
				return o.printSchedule(s)
			}
			return o.print(s)
		})
	})
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	return cmd
}

// printSchedule shows one schedule.
func (o *operation) printSchedule(s api.Schedule) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s:%s\n", s.Namespace, s.Name, s.Version)
	for _, t := range s.Timers {
		next := "next " + t.Next
		switch {
		case s.Paused:
			next = "paused"
		case t.Awaits != "":
			next = "next after the end of " + s.Namespace + "/" + t.Awaits
		case t.Next == "":
			next = "no time is left"
		}
		fmt.Fprintf(&b, "  %s %s, %s\n", t.Kind, t.When, next)
	}
	if slices.Contains(strings.Split(s.Kind, ","), "on") {
		fmt.Fprintf(&b, "  on events%s\n", map[bool]string{true: ", paused"}[s.Paused])
	}
	if p := s.Pause; p != nil {
		fmt.Fprintf(&b, "  paused since %s", p.At)
		if p.Actor != "" {
			fmt.Fprintf(&b, " by %s", p.Actor)
		}
		if p.Reason != "" {
			fmt.Fprintf(&b, ": %s", shorten.To(p.Reason, maxGrant))
		}
		b.WriteString("\n")
	}
	if s.LastRun != nil {
		fmt.Fprintf(&b, "  last %s, for %s\n", s.LastRun.Namespace+"/"+s.LastRun.ID, s.Last)
	}
	if s.Missed > 0 {
		fmt.Fprintf(&b, "  missed %s\n", terminal.Counted(s.Missed, "time"))
	}
	for _, f := range s.Failures {
		fmt.Fprintf(&b, "  failed %s, for %s: %s\n", f.Run.Namespace+"/"+f.Run.ID, f.For, f.Error)
	}
	_, err := fmt.Fprint(o.out, o.outStyle().Text(b.String()))
	return err
}
