package remote

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/store"
)

// The commands to runs.

// Send sends a command to several runs, and returns the outcomes and the errors, both at the same positions: an *api.Problem of a run that refuses
// it.
func (d *Deployment) Send(ctx context.Context, v control.Verb, all []store.Instance, reason string) ([]api.Outcome, []error) {
	answer, err := ask[api.Outcomes](ctx, d, request{method: http.MethodPost, path: path("/v1/runs", v.Name), body: bulk(all, reason)})
	return inOrder(all, answer), outcomes(all, answer, err)
}

// Check returns the outcomes and the errors that Send would return for the current states of the runs.
func (d *Deployment) Check(ctx context.Context, v control.Verb, all []store.Instance) ([]api.Outcome, []error) {
	r := bulk(all, "")
	r.DryRun = true
	answer, err := ask[api.Outcomes](ctx, d, request{method: http.MethodPost, path: path("/v1/runs", v.Name), body: r})
	return inOrder(all, answer), outcomes(all, answer, err)
}

func bulk(all []store.Instance, reason string) api.BulkRequest {
	r := api.BulkRequest{Reason: reason}
	for _, i := range all {
		r.Runs = append(r.Runs, i.String())
	}
	return r
}

// outcomes returns the errors of several runs, at their positions.
func outcomes(all []store.Instance, answer api.Outcomes, err error) []error {
	failed, answered := make([]error, len(all)), map[string]api.Outcome{}
	for _, o := range answer.Outcomes {
		answered[o.Run] = o
	}
	for n, i := range all {
		outcome, ok := answered[i.String()]
		switch {
		case err != nil:
			failed[n] = err
		case !ok:
			failed[n] = &AnswerError{"the server", "it answers nothing about " + i.String()}
		case outcome.Problem != nil:
			failed[n] = outcome.Problem
		}
	}
	return failed
}

// Retry continues several runs that are quarantined or faulted, and returns the outcomes and the errors, both at the same positions.
func (d *Deployment) Retry(ctx context.Context, all []store.Instance, r api.RetryRequest) ([]api.Outcome, []error) {
	body := api.BulkRetry{BulkRequest: bulk(all, r.Reason), Version: r.Version, Again: r.Again}
	body.DryRun = r.DryRun
	answer, err := ask[api.Outcomes](ctx, d, request{method: http.MethodPost, path: "/v1/runs/retry", body: body})
	return inOrder(all, answer), outcomes(all, answer, err)
}

// inOrder returns the outcomes of several runs, at their positions.
func inOrder(all []store.Instance, answer api.Outcomes) []api.Outcome {
	byRun, ordered := map[string]api.Outcome{}, make([]api.Outcome, len(all))
	for _, o := range answer.Outcomes {
		byRun[o.Run] = o
	}
	for n, i := range all {
		ordered[n] = byRun[i.String()]
	}
	return ordered
}

// ForkAll forks several runs, and returns the forks and the errors, both at the same positions.
func (d *Deployment) ForkAll(ctx context.Context, all []store.Instance, r api.ForkRequest) ([]api.Forked, []error) {
	return oneByOne(all, func(i store.Instance) (api.Forked, error) { return d.Fork(ctx, i, r) })
}

// SetDeadlines changes the deadlines of several runs, and returns them and the errors, both at the same positions.
func (d *Deployment) SetDeadlines(ctx context.Context, all []store.Instance, c api.DeadlineChange) ([]api.MovedDeadline, []error) {
	return oneByOne(all, func(i store.Instance) (api.MovedDeadline, error) { return d.SetDeadline(ctx, i, c) })
}

// oneByOne sends requests for several runs, and returns the answers and the errors, both at the same positions. It stops after an outage.
func oneByOne[T any](all []store.Instance, ask func(store.Instance) (T, error)) ([]T, []error) {
	answers, failed := make([]T, len(all)), make([]error, len(all))
	for n, i := range all {
		answers[n], failed[n] = ask(i)
		if control.IsOutage(failed[n]) {
			break
		}
	}
	return answers, failed
}

// Migrate migrates several runs to another version of their workflows, and returns the migrations and the errors, both at the same positions.
func (d *Deployment) Migrate(ctx context.Context, all []store.Instance, r api.MigrationRequest) ([]api.Migrated, []error) {
	return oneByOne(all, func(i store.Instance) (api.Migrated, error) {
		return ask[api.Migrated](ctx, d, request{method: http.MethodPost, path: runPath(i) + "/migrate", body: r})
	})
}

// Deadlines returns the deadlines that pass within a time, of runs of a namespace, or of all runs if it is empty. The log of the server names the
// runs that cannot be described.
func (d *Deployment) Deadlines(ctx context.Context, within time.Duration, namespace string, _ func(store.Instance, error)) ([]api.UpcomingDeadline, error) {
	query := queryOf("within", within.String(), "namespace", namespace)
	return pages[api.UpcomingDeadline](ctx, d, request{method: http.MethodGet, path: "/v1/deadlines", query: query})
}

// Import stores a run that was exported from another store.
func (d *Deployment) Import(ctx context.Context, r api.ImportRequest) (api.Description, error) {
	return ask[api.Description](ctx, d, request{method: http.MethodPost, path: "/v1/import", body: r})
}

// runPath returns the path of a run.
func runPath(i store.Instance) string { return path("/v1/runs", i.Namespace, i.ID) }

// Fork starts a run that continues from a task of another one.
func (d *Deployment) Fork(ctx context.Context, i store.Instance, r api.ForkRequest) (api.Forked, error) {
	return ask[api.Forked](ctx, d, request{method: http.MethodPost, path: runPath(i) + "/fork", body: r})
}

// SetDeadline changes the deadline of a run, or of one of its tasks in progress.
func (d *Deployment) SetDeadline(ctx context.Context, i store.Instance, c api.DeadlineChange) (api.MovedDeadline, error) {
	return ask[api.MovedDeadline](ctx, d, request{method: http.MethodPost, path: runPath(i) + "/deadline", body: c})
}

// Export returns a run with everything that is stored about it.
func (d *Deployment) Export(ctx context.Context, i store.Instance) (api.Export, error) {
	return ask[api.Export](ctx, d, request{method: http.MethodGet, path: runPath(i) + "/export"})
}

// Publish brings CloudEvents to the runs that listen for them, in some namespaces, or in all namespaces of the caller without any.
func (d *Deployment) Publish(ctx context.Context, all []map[string]any, namespaces []string) (api.Published, error) {
	query := url.Values{}
	for _, name := range namespaces {
		query.Add("namespace", name)
	}
	return ask[api.Published](ctx, d, request{method: http.MethodPost, path: "/v1/events", query: query, body: all})
}
