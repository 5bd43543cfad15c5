package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/control"
)

type documentAnswer struct {
	ContentType string `header:"Content-Type"`
	Body        []byte `data:"show"`
}

// documentRoutes serves the description of the API.
func (s *Server) documentRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "getOpenAPI", Method: http.MethodGet, Path: "/openapi.json", Tags: []string{"description"},
		Summary: "This description",
		Responses: map[string]*huma.Response{"200": {
			Description: "An OpenAPI 3.1 document", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}},
		}},
	}, func(ctx context.Context, _ *struct{}) (*documentAnswer, error) {
		all, more, err := s.control.InputSchemas(ctx, callerOf(ctx).Sees, maxDescribed)
		if err != nil {
			return nil, err
		}
		described := s.described(all)
		if more {
			described.Info = withoutOthers(described.Info, len(all))
		}
		text, err := json.Marshal(described)
		return &documentAnswer{"application/json", text}, err
	})
}

// maxDescribed is the maximum number of workflows with operations of their own in the description.
const maxDescribed = 500

// described returns the description of the API, with an operation for each given workflow.
func (s *Server) described(all []control.InputSchema) *huma.OpenAPI {
	described := *s.api.OpenAPI()
	described.Paths = maps.Clone(described.Paths)
	start := described.Paths[startPath].Post
	names := s.operationNames(all)
	taken := map[string]bool{}
	for _, w := range all {
		o := *start
		o.OperationID = names[w.Reference]
		o.Summary = "Start a run of " + w.String()
		if w.Title != "" {
			o.Summary += ": " + w.Title
		}
		o.Tags = []string{"workflow " + w.Namespace + "/" + w.Name}
		o.Parameters = slices.DeleteFunc(slices.Clone(o.Parameters), func(p *huma.Param) bool { return p.In == "path" })
		o.RequestBody = startBody(start.RequestBody, w, taken)
		path := strings.NewReplacer("{namespace}", w.Namespace, "{name}", w.Name, "{version}", url.PathEscape(w.Version)).Replace(startPath)
		described.Paths[path] = &huma.PathItem{Post: &o}
	}
	return &described
}

// withoutOthers adds to the text of a description that it has operations only for the first n workflows.
func withoutOthers(about *huma.Info, n int) *huma.Info {
	more := *about
	more.Description += fmt.Sprintf(" More than %d workflows are deployed: those that come after them in the order of their names have no operations of their own here.", n)
	return &more
}

func parseQuery(r *http.Request) (url.Values, error) { return url.ParseQuery(r.URL.RawQuery) }
