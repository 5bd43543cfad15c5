package server

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
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

// repairRoutes serves operations for operators: the repair of the store's indexes, and everything that is stored about a run.
func (s *Server) repairRoutes() {
	route(s, RoleAdmin, huma.Operation{
		OperationID: "repair", Method: http.MethodPost, Path: "/v1/repair", Tags: []string{"deployment"},
		Summary: "Compare all runs, or some, with the indexes of the store, and repair what differs",
	}, func(ctx context.Context, in *repairRequest) (*repairAnswer, error) {
		if err := checkNamespace(in.Namespace); err != nil {
			return nil, err
		}
		concerns(ctx, cmp.Or(strings.TrimSpace(in.Namespace+" "+in.Run), "all runs"))
		if in.DryRun {
			changesNothing(ctx)
		}
		found, err := s.control.Repair(ctx, api.RepairScope{Run: in.Run, Namespace: in.Namespace, DryRun: in.DryRun})
		return &repairAnswer{found}, err
	})
	route(s, RoleViewer, huma.Operation{
		OperationID: "exportRun", Method: http.MethodGet, Path: runPathPattern + "/export",
		Tags: []string{"runs"}, Metadata: map[string]any{tellsData: true, large: true},
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
