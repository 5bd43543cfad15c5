package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
)

type (
	deadMessagesAnswer struct {
		Body []api.DeadMessage `nullable:"false"`
	}
	deadMessageAnswer  struct{ Body api.DeadMessageContent }
	deadMessageResults struct {
		Body []api.DeadMessageResult `nullable:"false"`
	}
	deadMessagesInput struct {
		AudienceQuery
		Source string `query:"source" doc:"Only those of this source." example:"orders"`
	}
	deadMessageInput struct {
		AudienceQuery
		ID string `query:"id" required:"true" doc:"Of the message." example:"orders/7d3f0c5a9b1e2468"`
	}
	deadMessageCommand struct {
		AudienceQuery
		Body api.DeadMessageChoice
	}
)

// AudienceQuery limits what is published, or seen, to a namespace.
type AudienceQuery struct {
	Namespace string `query:"namespace" doc:"Only this namespace is meant: of what is published, only its runs and schedules hear. All that the caller sees unless it is given." example:"demo"`
}

// audience returns the namespaces that are meant, nil for all.
func (q AudienceQuery) audience(ctx context.Context) ([]string, error) {
	if q.Namespace == "" {
		return callerOf(ctx).Audience(), nil
	}
	if err := checkNamespace(q.Namespace); err != nil {
		return nil, err
	}
	if !callerOf(ctx).Sees(q.Namespace) {
		return nil, notFound("namespace " + q.Namespace)
	}
	return []string{q.Namespace}, nil
}

// deadMessageRoutes serves the messages that sources could not publish. A caller sees those of sources whose events reach no namespace but theirs.
func (s *Server) deadMessageRoutes() {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: eventsPath + "/dead" + path, Tags: []string{"events"}, Summary: summary}
	}
	route(s, RoleViewer, operation("listDeadMessages", http.MethodGet, "", "The messages of sources that could not be published"), func(ctx context.Context, in *deadMessagesInput) (*deadMessagesAnswer, error) {
		namespaces, err := in.audience(ctx)
		if err != nil {
			return nil, err
		}
		all, err := s.control.DeadMessages(ctx, in.Source, namespaces)
		return &deadMessagesAnswer{all}, err
	})
	route(s, RoleViewer, operation("getDeadMessage", http.MethodGet, "/one", "A message of a source that could not be published, with what it holds"), func(ctx context.Context, in *deadMessageInput) (*deadMessageAnswer, error) {
		namespaces, err := in.audience(ctx)
		if err != nil {
			return nil, err
		}
		m, err := s.control.DeadMessage(ctx, in.ID, namespaces)
		return &deadMessageAnswer{m}, err
	})
	const maxSubject = 1000 // bytes of a line of the audit
	type change func(context.Context, api.DeadMessageChoice, []string) ([]api.DeadMessageResult, error)
	changes := func(do change) func(context.Context, *deadMessageCommand) (*deadMessageResults, error) {
		return func(ctx context.Context, in *deadMessageCommand) (*deadMessageResults, error) {
			exchangeOf(ctx).reason, exchangeOf(ctx).subject = in.Body.Reason, shorten.To(strings.Join(in.Body.IDs, " "), maxSubject)
			namespaces, err := in.audience(ctx)
			if err != nil {
				return nil, err
			}
			all, err := do(ctx, in.Body, namespaces)
			return &deadMessageResults{all}, err
		}
	}
	route(s, RoleOperator, operation("retryDeadMessages", http.MethodPost, "/retry", "Publish messages of sources that could not be published"), changes(s.control.RetryDeadMessages))
	route(s, RoleOperator, operation("dropDeadMessages", http.MethodPost, "/drop", "Forget messages of sources that could not be published"), changes(s.control.DropDeadMessages))
}
