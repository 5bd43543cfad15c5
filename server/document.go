package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"
)

type documentAnswer struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// documentRoutes serves the description of the API.
func (s *Server) documentRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "getOpenAPI", Method: http.MethodGet, Path: "/openapi.json", Tags: []string{"description"},
		Summary: "This description",
		Responses: map[string]*huma.Response{"200": {
			Description: "An OpenAPI 3.1 document", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}},
		}},
	}, func(context.Context, *struct{}) (*documentAnswer, error) {
		text, err := json.Marshal(s.api.OpenAPI())
		return &documentAnswer{"application/json", text}, err
	})
}

func parseQuery(r *http.Request) (url.Values, error) { return url.ParseQuery(r.URL.RawQuery) }
