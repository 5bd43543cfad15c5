package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// drawingRoutes serves what a task has done, and pictures of runs.
func (s *Server) drawingRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "getTask", Method: http.MethodGet, Path: runPathPattern + "/tasks/{seq}",
		Tags: []string{"runs"}, Metadata: map[string]any{tellsData: true},
		Summary: "What one occurrence of a task was given, and what became of it",
	}, func(ctx context.Context, in *taskPath) (*taskAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		task, err := s.control.Task(ctx, i, in.Seq)
		return &taskAnswer{task}, err
	})
	for path, drawing := range map[string]struct {
		id, summary string
		draw        func(context.Context, store.Instance) (string, error)
		metadata    map[string]any
	}{
		"/graph.svg":    {"getGraph", "A drawing of the run's workflow, which shows how far it has come", s.control.Graph, nil},
		"/timeline.svg": {"getTimeline", "A drawing of the run over time: attempts, waits between them, deadlines", s.control.Timeline, map[string]any{tellsData: true}}, // errors with their details
	} {
		route(s, RoleViewer, huma.Operation{
			OperationID: drawing.id, Method: http.MethodGet, Path: runPathPattern + path,
			Tags: []string{"runs"}, Summary: drawing.summary, Metadata: drawing.metadata,
			Responses: map[string]*huma.Response{"200": {Description: "The drawing", Content: map[string]*huma.MediaType{typeSVG: {Schema: &huma.Schema{Type: huma.TypeString}}}}},
		}, func(ctx context.Context, in *RunPath) (*documentAnswer, error) {
			i, err := in.instance()
			if err != nil {
				return nil, err
			}
			text, err := drawing.draw(ctx, i)
			return &documentAnswer{typeSVG, []byte(text)}, err
		})
	}
}

type taskPath struct {
	RunPath
	Seq int `path:"seq" minimum:"1" doc:"The seq of the record with which it has started: see the history." example:"2"`
}

type taskAnswer struct{ Body api.TaskRecord }
