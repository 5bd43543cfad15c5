package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/audit"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// This file notes what this process changes in a store without a server: the audit trail of the store keeps it until a server or worker writes
// it into its log.

// audited is the deployment of a store that this process has opened. Each change that is asked of it stands in the audit trail.
type audited struct {
	*control.Control
	program *program
}

// change is what is asked for.
type change struct {
	operation string // as the HTTP API calls it
	subject   string
	reason    string
}

// noteWithin is how long the store may take to keep a note.
const noteWithin = 3 * time.Second

// note keeps a change, and how it ended. That it could not be kept is told: the change was made.
func (p *program) note(ctx context.Context, r store.Registry, c change, outcome string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	err := audit.NewTrail(r).Write(ctx, audit.Record{
		At: p.now(), Actor: client.Actor(ctx), Operation: c.operation, Subject: c.subject, Reason: c.reason, Outcome: outcome,
	})
	if err != nil && outcome == audit.Done {
		fmt.Fprintln(p.err, p.errStyle().Text("this change will be in no audit log: "+err.Error()))
	}
}

func (a *audited) note(ctx context.Context, c change, err error) {
	outcome := audit.Done
	if err != nil {
		outcome = err.Error()
	}
	a.program.note(ctx, a.Registry(), c, outcome)
}

// noted makes a change of which the answer is a value.
func noted[T any](ctx context.Context, a *audited, c change, do func() (T, error)) (T, error) {
	v, err := do()
	a.note(ctx, c, err)
	return v, err
}

// noteRuns keeps a change of several runs, of which some may have refused it.
func (a *audited) noteRuns(ctx context.Context, c change, all []store.Instance, failed []error) {
	var names []string
	refused, why := 0, ""
	for n, i := range all {
		if names = append(names, i.String()); failed[n] != nil {
			if refused++; why == "" {
				why = failed[n].Error()
			}
		}
	}
	outcome := audit.Done
	if refused > 0 {
		outcome = fmt.Sprintf("%d of %d refused: %s", refused, len(all), why)
	}
	c.subject = fmt.Sprintf("%d: %s", len(all), strings.Join(names, " "))
	if len(all) == 1 {
		c.subject = names[0]
	}
	a.program.note(ctx, a.Registry(), c, outcome)
}

// operationOf returns what the HTTP API calls a verb that is given to runs.
func operationOf(v control.Verb) string {
	if v.Name == control.RetryNow().Name {
		return "retryNowRuns"
	}
	return v.Name + "Runs"
}

// Send implements deployment.
func (a *audited) Send(ctx context.Context, v control.Verb, all []store.Instance, reason string) []error {
	failed := a.Control.Send(ctx, v, all, reason)
	a.noteRuns(ctx, change{operation: operationOf(v), reason: reason}, all, failed)
	return failed
}

// SetDeadline implements deployment.
func (a *audited) SetDeadline(ctx context.Context, i store.Instance, c api.DeadlineChange) (api.MovedDeadline, error) {
	do := func() (api.MovedDeadline, error) { return a.Control.SetDeadline(ctx, i, c) }
	if c.DryRun {
		return do()
	}
	return noted(ctx, a, change{"setDeadline", i.String() + " " + c.Deadline, c.Reason}, do)
}

// SetDeadlines implements deployment.
func (a *audited) SetDeadlines(ctx context.Context, all []store.Instance, c api.DeadlineChange) ([]api.MovedDeadline, []error) {
	moved, failed := a.Control.SetDeadlines(ctx, all, c)
	if !c.DryRun {
		a.noteRuns(ctx, change{operation: "setDeadlines", reason: c.Reason}, all, failed)
	}
	return moved, failed
}

// Fork implements deployment.
func (a *audited) Fork(ctx context.Context, i store.Instance, r api.ForkRequest) (api.Forked, error) {
	do := func() (api.Forked, error) { return a.Control.Fork(ctx, i, r) }
	if r.DryRun {
		return do()
	}
	return noted(ctx, a, change{operation: "forkRun", subject: i.String()}, do)
}

// ForkAll implements deployment.
func (a *audited) ForkAll(ctx context.Context, all []store.Instance, r api.ForkRequest) ([]api.Forked, []error) {
	forked, failed := a.Control.ForkAll(ctx, all, r)
	if !r.DryRun {
		a.noteRuns(ctx, change{operation: "forkRuns"}, all, failed)
	}
	return forked, failed
}

// Retry implements deployment.
func (a *audited) Retry(ctx context.Context, all []store.Instance, r api.RetryRequest) ([]api.Outcome, []error) {
	outcomes, failed := a.Control.Retry(ctx, all, r)
	if !r.DryRun {
		a.noteRuns(ctx, change{operation: "retryRuns", reason: r.Reason}, all, failed)
	}
	return outcomes, failed
}

// Migrate implements deployment.
func (a *audited) Migrate(ctx context.Context, all []store.Instance, r api.MigrationRequest) ([]api.Migrated, []error) {
	migrated, failed := a.Control.Migrate(ctx, all, r)
	if !r.DryRun {
		a.noteRuns(ctx, change{operation: "migrateRuns", reason: r.Reason}, all, failed)
	}
	return migrated, failed
}

// Publish implements deployment. What events say is no matter of an audit: their types and ids are noted.
func (a *audited) Publish(ctx context.Context, all []map[string]any, namespaces []string) (api.Published, error) {
	var names []string
	for _, e := range all {
		names = append(names, fmt.Sprint(e["type"])+" "+fmt.Sprint(e["id"]))
	}
	return noted(ctx, a, change{operation: "publishEvents", subject: strings.Join(names, ", ")}, func() (api.Published, error) { return a.Control.Publish(ctx, all, namespaces) })
}

// Start implements deployment.
func (a *audited) Start(ctx context.Context, r api.StartRequest) (api.Description, bool, error) {
	d, again, err := a.Control.Start(ctx, r)
	if !again {
		run := ""
		if err == nil {
			run = " " + d.Instance().String()
		}
		a.note(ctx, change{operation: "startRun", subject: r.Workflow + run}, err)
	}
	return d, again, err
}

// Import implements deployment.
func (a *audited) Import(ctx context.Context, r api.ImportRequest) (api.Description, error) {
	d, err := a.Control.Import(ctx, r)
	run := ""
	if err == nil {
		run = d.Instance().String()
	}
	a.note(ctx, change{operation: "importRun", subject: run}, err)
	return d, err
}

// Repair implements deployment.
func (a *audited) Repair(ctx context.Context, of api.RepairScope) (api.Repair, error) {
	do := func() (api.Repair, error) { return a.Control.Repair(ctx, of) }
	if of.DryRun {
		return do()
	}
	return noted(ctx, a, change{operation: "repair", subject: strings.TrimSpace(of.Namespace + " " + of.Run)}, do)
}

// DeployAll implements deployment. Of documents that are deployed already nothing is noted: nothing is changed.
func (a *audited) DeployAll(ctx context.Context, all ...*swrun.Document) error {
	return a.notedDeploy(ctx, all, func() error { return a.Control.DeployAll(ctx, all...) })
}

// notedDeploy does what deploys documents, and notes how that ended for those that were not deployed before.
func (a *audited) notedDeploy(ctx context.Context, all []*swrun.Document, do func() error) error {
	var made []string
	for _, d := range all {
		w := d.Workflow.Document
		_, err := a.WorkflowText(ctx, definition.Reference{Namespace: w.Namespace, Name: w.Name, Version: w.Version})
		if store.RefusedAs(err) == store.NoSuch {
			made = append(made, d.String())
		}
	}
	err := do()
	if len(made) > 0 {
		a.note(ctx, change{operation: "putWorkflow", subject: strings.Join(made, " ")}, err)
	}
	return err
}

// Undeploy implements deployment.
func (a *audited) Undeploy(ctx context.Context, r definition.Reference) error {
	err := a.Control.Undeploy(ctx, r)
	a.note(ctx, change{operation: "deleteWorkflow", subject: r.String()}, err)
	return err
}

// DeployFunction implements deployment.
func (a *audited) DeployFunction(ctx context.Context, f *swrun.Function) (api.DeployedFunction, bool, error) {
	d, again, err := a.Control.DeployFunction(ctx, f)
	if !again {
		a.note(ctx, change{operation: "putFunction", subject: f.Name}, err)
	}
	return d, again, err
}

// RemoveFunction implements deployment.
func (a *audited) RemoveFunction(ctx context.Context, named string) error {
	err := a.Control.RemoveFunction(ctx, named)
	a.note(ctx, change{operation: "deleteFunction", subject: named}, err)
	return err
}

// trailHandler is a log of which audit lines come into the audit trail of the store, since nobody keeps what the process prints.
type trailHandler struct {
	slog.Handler
	program *program
	trail   store.Registry
}

// Enabled implements slog.Handler.
func (h trailHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level == audit.Level || h.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h trailHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level != audit.Level {
		return h.Handler.Handle(ctx, r)
	}
	fields := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		fields[a.Key] = a.Value.String()
		return true
	})
	c := change{operation: fields["operation"], subject: cmp.Or(fields["subject"], fields["path"]), reason: fields["reason"]}
	outcome := audit.Done
	if status := fields["status"]; !slices.Contains([]string{"200", "201", "202", "204"}, status) {
		outcome = cmp.Or(fields["refusal"], "status "+status)
	}
	h.program.note(client.WithActor(ctx, fields["actor"]), h.trail, c, outcome)
	return nil
}

// keepCurrent writes the audit trail, and rereads the secrets, until ctx ends.
func (o *operation) keepCurrent(ctx context.Context, f *workerFlags) {
	var both sync.WaitGroup
	both.Go(func() { o.writeAudit(ctx, f) })
	both.Go(func() { f.rereads.watch(ctx) })
	both.Wait()
}

// writeAudit writes into the log of this process what commands have changed without a server, until ctx ends. The log of dev is for one person, who
// has given those commands.
func (o *operation) writeAudit(ctx context.Context, f *workerFlags) {
	if !f.drafts {
		audit.NewTrail(o.store).Follow(ctx, f.log)
	}
}
