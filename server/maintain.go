package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type exportAnswer struct{ Body api.Export }

type importInput struct{ Body api.ImportRequest }

type repairInput struct{ Body RepairRequest }

// RepairRequest says how the indexes are compared.
type RepairRequest struct {
	DryRun bool `json:"dryRun,omitempty" doc:"Nothing is repaired: what is wrong is only counted."`
}

type repairAnswer struct{ Body api.Repair }

// maxImport is how many bytes an export may have that is sent.
const maxImport = 64 << 20

// maintenanceRoutes serves what those do who look after the store.
func (s *Server) maintenanceRoutes() {
	route(s, RoleOperator, huma.Operation{
		OperationID: "exportRun", Method: http.MethodGet, Path: runPathPattern + "/export", Tags: []string{"runs"},
		Summary: "A run with all that is stored of it, for another store",
	}, func(ctx context.Context, in *RunPath) (*exportAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		export, err := s.control.Export(ctx, i)
		return &exportAnswer{export}, err
	})
	route(s, RoleAdmin, huma.Operation{
		OperationID: "importRun", Method: http.MethodPost, Path: "/v1/import", Tags: []string{"runs"}, DefaultStatus: http.StatusCreated,
		Summary:      "Store a run that was exported from another store",
		Description:  "It has the id, the history and the deadlines that it had, and goes on here if it has not ended. Only an administrator of all namespaces may do so.",
		MaxBodyBytes: maxImport,
	}, s.importRun)
	route(s, RoleAdmin, huma.Operation{
		OperationID: "repair", Method: http.MethodPost, Path: "/v1/repair", Tags: []string{"deployment"},
		Summary: "Compare all runs with the indexes of the store, and put right what differs",
	}, func(ctx context.Context, in *repairInput) (*repairAnswer, error) {
		repaired, err := s.control.Repair(ctx, in.Body.DryRun)
		return &repairAnswer{repaired}, err
	})
}

func (s *Server) importRun(ctx context.Context, in *importInput) (*runAnswer, error) {
	d, err := s.control.Import(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return &runAnswer{Status: http.StatusCreated, Location: location(d.Started), Body: d}, nil
}
