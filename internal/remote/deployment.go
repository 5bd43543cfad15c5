package remote

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// The operations on the deployment as a whole.

// Ready returns an error if the server does not answer.
func (d *Deployment) Ready(ctx context.Context) error {
	_, err := d.send(ctx, request{method: http.MethodGet, path: "/livez"})
	return err
}

// Health returns the health of the deployment.
func (d *Deployment) Health(ctx context.Context) (api.Health, error) {
	got, err := d.send(ctx, request{method: http.MethodGet, path: "/v1/health", answers: []int{http.StatusServiceUnavailable}})
	if err != nil {
		return api.Health{}, err
	}
	var h api.Health
	if err := read(got.Body(), &h); err != nil || h.Status == "" {
		return h, &AnswerError{d.called, "status " + got.Status()}
	}
	return h, nil
}

// Repair compares runs with the indexes of the store, and repairs the differences.
func (d *Deployment) Repair(ctx context.Context, of api.RepairScope) (api.Repair, error) {
	query := queryOf("dryRun", strconv.FormatBool(of.DryRun), "run", of.Run, "namespace", of.Namespace)
	return ask[api.Repair](ctx, d, request{method: http.MethodPost, path: "/v1/repair", query: query, wait: repairWithin})
}

// Workflows returns the deployed workflows of a namespace; of all namespaces if it is empty.
func (d *Deployment) Workflows(ctx context.Context, namespace string) ([]api.Workflow, error) {
	found, err := pages[api.Workflow](ctx, d, request{method: http.MethodGet, path: "/v1/workflows"})
	return slices.DeleteFunc(found, func(w api.Workflow) bool { return namespace != "" && w.Namespace != namespace }), err
}

// Workflow returns a deployed workflow; a workflow that is not deployed is refused as store.NoSuch.
func (d *Deployment) Workflow(ctx context.Context, namespace, name string) (api.Workflow, error) {
	found, err := d.Workflows(ctx, namespace)
	if err != nil {
		return api.Workflow{}, err
	}
	n := slices.IndexFunc(found, func(w api.Workflow) bool { return w.Name == name })
	if n < 0 {
		return api.Workflow{}, &store.Refusal{Code: store.NoSuch, Detail: "workflow " + namespace + "/" + name}
	}
	return found[n], nil
}

// repairWithin is the time limit of a repair, which reads every run.
const repairWithin = time.Hour
