package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type (
	queuesAnswer struct {
		Body []api.Queue `nullable:"false"`
	}
	queueAnswer struct{ Body api.Queue }
	// QueuePath names a queue.
	QueuePath struct {
		Name string `path:"name" maxLength:"128" example:"gpu"`
	}
	queueLimit struct {
		QueuePath
		Body api.QueueChange
	}
	queueCommand struct {
		QueuePath
		Body *api.CommandRequest `required:"false"`
	}
)

const queuesPath = "/v1/queues"

// queueRoutes serves the task queues, and what operators decide about them.
func (s *Server) queueRoutes() {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: queuesPath + path, Tags: []string{"queues"}, Summary: summary}
	}
	route(s, RoleViewer, operation("listQueues", http.MethodGet, "", "The task queues: what waits in them, their limits, and who takes them"), func(ctx context.Context, _ *struct{}) (*queuesAnswer, error) {
		all, err := s.control.Queues(ctx)
		return &queuesAnswer{all}, err
	})
	route(s, RoleAdmin, operation("limitQueue", http.MethodPatch, "/{name}", "Change the limits of a queue"), func(ctx context.Context, in *queueLimit) (*queueAnswer, error) {
		return s.changeQueue(ctx, in.Body.Reason, func() (api.Queue, error) { return s.control.LimitQueue(ctx, in.Name, in.Body) })
	})
	route(s, RoleAdmin, operation("pauseQueue", http.MethodPost, "/{name}/pause", "Begin nothing of a queue any more"), func(ctx context.Context, in *queueCommand) (*queueAnswer, error) {
		return s.changeQueue(ctx, in.reason(), func() (api.Queue, error) { return s.control.PauseQueue(ctx, in.Name, in.reason()) })
	})
	route(s, RoleAdmin, operation("resumeQueue", http.MethodPost, "/{name}/resume", "End the pause of a queue"), func(ctx context.Context, in *queueCommand) (*queueAnswer, error) {
		return s.changeQueue(ctx, in.reason(), func() (api.Queue, error) { return s.control.ResumeQueue(ctx, in.Name, in.reason()) })
	})
}

func (c *queueCommand) reason() string { return reasonOf(c.Body) }

// reasonOf returns the reason of a command whose body may be left out.
func reasonOf(r *api.CommandRequest) string {
	if r == nil {
		return ""
	}
	return r.Reason
}

// changeQueue changes a queue. All namespaces share the queues.
func (s *Server) changeQueue(ctx context.Context, reason string, change func() (api.Queue, error)) (*queueAnswer, error) {
	exchangeOf(ctx).reason = reason
	changed, err := change()
	return &queueAnswer{changed}, err
}
