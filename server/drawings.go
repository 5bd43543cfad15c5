package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

// drawingRoutes serves the occurrences of tasks, and drawings of runs.
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
	route(s, RoleViewer, drawingOperation(huma.Operation{
		OperationID: "getGraph", Path: runPathPattern + "/graph.svg", Summary: "A drawing of the run's workflow, which shows how far it has come",
	}), func(ctx context.Context, in *RunPath) (*documentAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		text, err := s.control.Graph(ctx, i)
		return &documentAnswer{typeSVG, []byte(text)}, err
	})
	route(s, RoleViewer, drawingOperation(huma.Operation{
		OperationID: "getTimeline", Path: runPathPattern + "/timeline.svg", Summary: "A drawing of the run over time: attempts, waits between them, deadlines",
		Metadata: map[string]any{tellsData: true}, // errors with their details
	}), func(ctx context.Context, in *timelineInput) (*documentAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		text, err := s.control.Timeline(ctx, i, in.Run)
		return &documentAnswer{typeSVG, []byte(text)}, err
	})
}

// drawingOperation adds to an operation the common parts of all operations that return a drawing of a run.
func drawingOperation(o huma.Operation) huma.Operation {
	o.Method, o.Tags = http.MethodGet, []string{"runs"}
	o.Responses = map[string]*huma.Response{"200": {Description: "The drawing", Content: map[string]*huma.MediaType{typeSVG: {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	return o
}

type timelineInput struct {
	RunPath
	RunOrAll
}

type taskPath struct {
	RunPath
	Seq int `path:"seq" minimum:"1" doc:"The seq of the record with which it has started: see the history." example:"2"`
}

type taskAnswer struct{ Body api.TaskRecord }
