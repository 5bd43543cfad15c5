package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type (
	tokenAnswer struct {
		Status int
		Body   api.IssuedToken
	}
	tokenListAnswer struct{ Body api.TokenList }
	tokenPath       struct {
		Name string `path:"name" doc:"What the token is called."`
	}
)

// tokenRoutes issue and revoke tokens.
func (s *Server) tokenRoutes() {
	route(s, RoleAdmin, huma.Operation{
		OperationID: "issueToken", Method: http.MethodPost, Path: "/v1/tokens", Tags: []string{"tokens"},
		DefaultStatus: http.StatusCreated, Metadata: map[string]any{toldOnce: true},
		Summary: "Make a token for a caller; only this answer tells it",
	}, func(ctx context.Context, in *struct{ Body api.TokenRequest }) (*tokenAnswer, error) {
		made, err := s.control.IssueToken(ctx, in.Body)
		return &tokenAnswer{http.StatusCreated, made}, err
	})
	route(s, RoleAdmin, huma.Operation{
		OperationID: "listTokens", Method: http.MethodGet, Path: "/v1/tokens", Tags: []string{"tokens"},
		Summary: "All tokens: who may do what, without the tokens themselves",
	}, func(ctx context.Context, _ *struct{}) (*tokenListAnswer, error) {
		all, err := s.control.ListTokens(ctx)
		return &tokenListAnswer{all}, err
	})
	route(s, RoleAdmin, huma.Operation{
		OperationID: "revokeToken", Method: http.MethodDelete, Path: "/v1/tokens/{name}", Tags: []string{"tokens"}, DefaultStatus: http.StatusNoContent,
		Summary: "Refuse a token from now on",
	}, func(ctx context.Context, in *tokenPath) (*struct{}, error) {
		return nil, s.control.RevokeToken(ctx, in.Name)
	})
}
