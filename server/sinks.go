package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type (
	sinksAnswer struct {
		Body []api.Sink `nullable:"false"`
	}
	sinkAnswer  struct{ Body api.Sink }
	sinkCommand struct {
		Name string                `path:"name" maxLength:"63" example:"audit"`
		Body *api.DeadLetterChoice `required:"false"`
	}
)

// choice returns which dead letters are meant, and notes why.
func (c *sinkCommand) choice(ctx context.Context) (chosen api.DeadLetterChoice) {
	if c.Body != nil {
		chosen = *c.Body
	}
	exchangeOf(ctx).reason = chosen.Reason
	return chosen
}

// sinkRoutes serves the sinks of events, and what operators do with their dead letters.
func (s *Server) sinkRoutes() {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/v1/sinks" + path, Tags: []string{"events"}, Summary: summary}
	}
	route(s, RoleAdmin, operation("listSinks", http.MethodGet, "", "The sinks of events, and their dead letters: what they have not taken"), func(ctx context.Context, _ *struct{}) (*sinksAnswer, error) {
		all, err := s.control.Sinks(ctx)
		return &sinksAnswer{all}, err
	})
	route(s, RoleAdmin, operation("retryDeadLetters", http.MethodPost, "/{name}/retry", "Send dead letters of a sink again"), func(ctx context.Context, in *sinkCommand) (*sinkAnswer, error) {
		changed, err := s.control.RetryDeadLetters(ctx, in.Name, in.choice(ctx))
		return &sinkAnswer{changed}, err
	})
	route(s, RoleAdmin, operation("dropDeadLetters", http.MethodPost, "/{name}/drop", "Forget dead letters of a sink"), func(ctx context.Context, in *sinkCommand) (*sinkAnswer, error) {
		changed, err := s.control.DropDeadLetters(ctx, in.Name, in.choice(ctx))
		return &sinkAnswer{changed}, err
	})
}
