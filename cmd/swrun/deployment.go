package main

import (
	"context"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// deployment is what verbs ask: of a store that this process has opened (package control), or of a server (package remote). Both answer with
// the shapes of package api.
type deployment interface {
	runReader
	runChanger

	Start(context.Context, api.StartRequest) (d api.Description, again bool, err error)

	DeployAll(context.Context, ...*swrun.Document) error
	CheckRuns(context.Context, *swrun.Document) (api.DeployResult, error)
	Workflows(ctx context.Context, namespace string) ([]api.Workflow, error)
	Workflow(ctx context.Context, namespace, name string) (api.Workflow, error)
	Deployed(ctx context.Context, r definition.Reference) (api.DeployedWorkflow, error)
	WorkflowText(ctx context.Context, r definition.Reference) (string, error)
	Undeploy(ctx context.Context, r definition.Reference) error

	DeployFunction(context.Context, *swrun.Function) (d api.DeployedFunction, again bool, err error)
	Functions(context.Context) ([]api.Function, error)
	Function(ctx context.Context, named string) (api.DeployedFunction, error)
	RemoveFunction(ctx context.Context, named string) error

	Publish(ctx context.Context, all []map[string]any, namespaces []string) (api.Published, error)

	Untaken(context.Context, control.EventQuery) ([]api.UntakenEvent, error)
	Listeners(context.Context, control.EventQuery) (control.ListenersPage, error)

	Repair(ctx context.Context, of api.RepairScope) (api.Repair, error)
	Import(context.Context, api.ImportRequest) (api.Description, error)
}

// runChanger is who changes what runs do.
type runChanger interface {
	Send(ctx context.Context, v control.Verb, all []store.Instance, reason string) []error
	Check(ctx context.Context, v control.Verb, all []store.Instance) []error
	SetDeadline(context.Context, store.Instance, api.DeadlineChange) (api.MovedDeadline, error)
	SetDeadlines(context.Context, []store.Instance, api.DeadlineChange) ([]api.MovedDeadline, []error)
	Fork(context.Context, store.Instance, api.ForkRequest) (api.Forked, error)
	ForkAll(context.Context, []store.Instance, api.ForkRequest) ([]api.Forked, []error)
	Retry(context.Context, []store.Instance, api.RetryRequest) ([]api.Outcome, []error)
	Migrate(ctx context.Context, all []store.Instance, r api.MigrationRequest) ([]api.Migrated, []error)
}

// runReader is who tells which runs there are, and what they are doing.
type runReader interface {
	List(context.Context, control.RunQuery) (control.RunPage, error)
	Count(ctx context.Context, chosen control.Choice, by string) (api.Count, error)
	Select(ctx context.Context, chosen control.Choice, limit int) (control.Selection, error)
	Find(ctx context.Context, name string, namespaces []string) (api.FoundRuns, error)
	Describe(context.Context, store.Instance) (api.Description, error)
	DescribeRun(ctx context.Context, execution store.Instance, number int) (api.Description, error)
	Outcome(ctx context.Context, i store.Instance, within time.Duration) (api.RunOutcome, error)
	OutcomeOf(ctx context.Context, run control.RunOf, within time.Duration) (api.RunOutcome, error)
	History(context.Context, store.Instance, control.HistoryQuery) (control.HistoryPage, error)
	Task(ctx context.Context, i store.Instance, seq int) (api.TaskRecord, error)
	FollowFleet(ctx context.Context, chosen control.Choice, after control.FleetPosition, to control.Follower) error
	Export(context.Context, store.Instance) (api.Export, error)
	// Deadlines gives runs that cannot be described to unread.
	Deadlines(ctx context.Context, within time.Duration, namespace string, unread func(store.Instance, error)) ([]api.UpcomingDeadline, error)
}
