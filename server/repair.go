package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

type (
	repairRequest struct {
		DryRun    bool   `query:"dryRun" doc:"Only count what would be repaired."`
		Run       string `query:"run" doc:"Compare only this run, namespace/id." example:"demo/order-7"`
		Namespace string `query:"namespace" doc:"Compare only the runs of this namespace."`
	}
	repairAnswer struct{ Body api.Repair }
	exportAnswer struct{ Body api.Export }
)

// scope returns what is to be compared.
func (in *repairRequest) scope() (client.RepairScope, error) {
	of := client.RepairScope{Namespace: in.Namespace, Check: in.DryRun}
	if err := checkNamespace(in.Namespace); err != nil || in.Run == "" {
		return of, err
	}
	var err error
	if of.Run, err = store.ParseInstance(in.Run); err != nil {
		return of, client.NewOptionError("run", err)
	}
	if in.Namespace != "" && of.Run.Namespace != in.Namespace {
		return of, &client.OptionError{Field: "run", Detail: in.Run + " is not in the namespace " + in.Namespace}
	}
	return of, nil
}

// repairRoutes serves what is for operators alone: repairing the indexes of the store, and all that is stored of a run.
func (s *Server) repairRoutes() {
	route(s, RoleAdmin, huma.Operation{
		OperationID: "repair", Method: http.MethodPost, Path: "/v1/repair", Tags: []string{"deployment"},
		Summary: "Compare all runs, or some, with the indexes of the store, and repair what differs",
	}, func(ctx context.Context, in *repairRequest) (*repairAnswer, error) {
		scope, err := in.scope()
		if err != nil {
			return nil, err
		}
		found, err := s.control.Repair(ctx, scope)
		return &repairAnswer{found}, err
	})
	route(s, RoleViewer, huma.Operation{
		OperationID: "exportRun", Method: http.MethodGet, Path: runPathPattern + "/export",
		Tags: []string{"runs"}, Metadata: map[string]any{tellsData: true},
		Summary: "A run with all that is stored of it: definition, history, state, failures",
	}, func(ctx context.Context, in *RunPath) (*exportAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		all, err := s.control.Export(ctx, i)
		return &exportAnswer{all}, err
	})
	s.importRoutes()
}
