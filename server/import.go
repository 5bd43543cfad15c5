package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type importInput struct{ Body api.ImportRequest }

// maxImport is the maximum size of an imported export, in bytes.
const maxImport = 64 << 20

// importRoutes serves the operation that imports runs of other stores.
func (s *Server) importRoutes() {
	route(s, RoleAdmin, huma.Operation{
		OperationID: "importRun", Method: http.MethodPost, Path: "/v1/import", Tags: []string{"runs"}, DefaultStatus: http.StatusCreated,
		Summary:      "Store a run that was exported from another store",
		Description:  "It has the id, the history and the deadlines that it had, and goes on here if it has not ended. Only an administrator of all namespaces may do so.",
		MaxBodyBytes: maxImport,
	}, s.importRun)
}

func (s *Server) importRun(ctx context.Context, in *importInput) (*runAnswer, error) {
	d, err := s.control.Import(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	concerns(ctx, d.Instance().String())
	return &runAnswer{Status: http.StatusCreated, Location: location(d.Started), Body: d}, nil
}
