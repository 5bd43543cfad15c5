package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

// ruleRoutes serves the explanations of the codes of diagnostics and of the types of errors.
func (s *Server) ruleRoutes() {
	route(s, RoleOpen, huma.Operation{
		OperationID: "getRule", Method: http.MethodGet, Path: "/rules/{code}", Tags: []string{"description"},
		Summary: "What the code of a finding, or a type of errors, means",
	}, func(_ context.Context, in *rulePath) (*ruleAnswer, error) {
		rule, err := s.control.Rule(in.Code)
		return &ruleAnswer{rule}, err
	})
}

type rulePath struct {
	Code string `path:"code" doc:"SW401, or timeout." example:"SW401"`
}

type ruleAnswer struct{ Body api.Rule }
