package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

// listenerRoutes serves the listeners for events, and the events that no run took.
func (s *Server) listenerRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "listUnmatchedEvents", Method: http.MethodGet, Path: eventsPath + "/unmatched", Tags: []string{"events"},
		Summary: "The events of the last day that nobody took, the newest first",
		Description: "No run got them, and they started none. Events of other namespaces are left out. Their data are not kept. " +
			"At most 200 events of each namespace and 20 of each type are kept, and some of them if there are many at a time.",
	}, s.listUnmatched)
	route(s, RoleViewer, huma.Operation{
		OperationID: "listListeners", Method: http.MethodGet, Path: eventsPath + "/listeners", Tags: []string{"events"},
		Summary:     "Who listens for events: schedules, and tasks of runs, with the values that they expect",
		Description: "The limit counts schedules and runs; each has an entry for every filter that waits for an event.",
	}, s.listListeners)
}

const listenersPath = eventsPath + "/listeners"

type unmatchedInput struct {
	Namespace string `query:"namespace" doc:"Only events that runs and schedules of this namespace would have heard."`
	Type      string `query:"type" maxLength:"1024" doc:"Only events of this type." example:"order.paid"`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many at most."`
}

type listenersInput struct {
	Namespace string `query:"namespace" doc:"Only runs and schedules of this namespace."`
	Type      string `query:"type" maxLength:"1024" doc:"Only those who listen for events of this type, or of any." example:"order.paid"`
	Page
}

type (
	unmatchedAnswer struct {
		Body []api.UntakenEvent `nullable:"false"`
	}
	listenersAnswer struct {
		Link string         `header:"Link" doc:"The next page, if there is one."`
		Body []api.Listener `nullable:"false"`
	}
)

func (s *Server) listUnmatched(ctx context.Context, in *unmatchedInput) (*unmatchedAnswer, error) {
	chosen, err := choiceOf(ctx, ChoiceQuery{Namespace: in.Namespace})
	if err != nil {
		return nil, err
	}
	all, err := s.control.Untaken(ctx, control.EventQuery{Namespaces: chosen.Namespaces, Type: in.Type, Limit: in.Limit})
	return &unmatchedAnswer{all}, err
}

func (s *Server) listListeners(ctx context.Context, in *listenersInput) (*listenersAnswer, error) {
	chosen, err := choiceOf(ctx, ChoiceQuery{Namespace: in.Namespace})
	if err != nil {
		return nil, err
	}
	page, err := s.control.Listeners(ctx, control.EventQuery{Namespaces: chosen.Namespaces, Type: in.Type, Cursor: in.Cursor, Limit: in.Limit})
	return &listenersAnswer{next(listenersPath, page.Next, "type", in.Type, "namespace", in.Namespace, "limit", pageLimit(in.Page)), page.Listeners}, err
}
