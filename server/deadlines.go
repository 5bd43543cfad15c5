package server

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

func (s *Server) deadlinesRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "listDeadlines", Method: http.MethodGet, Path: "/v1/deadlines", Tags: []string{"runs"},
		Summary: "The deadlines that pass soon, of all runs, the first to pass first",
	}, s.listDeadlines)
	route(s, RoleViewer, huma.Operation{
		OperationID: "getRunDeadlines", Method: http.MethodGet, Path: runPathPattern + "/deadlines", Tags: []string{"runs"},
		Summary:     "The deadlines of one run, whenever they pass, the first to pass first",
		Description: "Those of an earlier run of an execution are the ones in force when the next run began.",
	}, s.getRunDeadlines)
}

type runDeadlinesInput struct {
	RunPath
	RunNumber
}

type runDeadlinesAnswer struct {
	Body []api.UpcomingDeadline `nullable:"false"`
}

func (s *Server) getRunDeadlines(ctx context.Context, in *runDeadlinesInput) (*runDeadlinesAnswer, error) {
	i, number, err := in.oneRun(in.RunNumber)
	if err != nil {
		return nil, err
	}
	d, err := s.control.DescribeRun(ctx, i, number)
	return &runDeadlinesAnswer{api.UpcomingOf(i, d)}, err
}

type deadlinesInput struct {
	Within    string `query:"within" default:"5m" doc:"That pass within this time: 5m, or a number of seconds."`
	Namespace string `query:"namespace" doc:"Only those of runs of this namespace."`
	Page
}

type deadlinesAnswer struct {
	Link string `header:"Link" doc:"The next page, if there is one."`
	// Unreadable counts the runs that the body leaves out.
	Unreadable int                    `header:"Unreadable-Runs" doc:"How many runs may have a deadline that passes soon and cannot be read; absent if there are none."`
	Body       []api.UpcomingDeadline `nullable:"false"`
}

func (s *Server) listDeadlines(ctx context.Context, in *deadlinesInput) (*deadlinesAnswer, error) {
	within, err := api.ParseSpan(in.Within)
	if err == nil && within <= 0 {
		err = errors.New("must be longer than nothing, for example 5m")
	}
	if err != nil {
		return nil, client.NewOptionError("within", err)
	}
	chosen, err := choiceOf(ctx, ChoiceQuery{Namespace: in.Namespace})
	if err != nil {
		return nil, err
	}
	wanted := func(namespace string) bool {
		return chosen.Namespaces == nil || slices.Contains(chosen.Namespaces, namespace)
	}
	answer := &deadlinesAnswer{Body: []api.UpcomingDeadline{}}
	found, err := s.control.Upcoming(ctx, within, wanted, func(i store.Instance, err error) {
		answer.Unreadable++
		s.log.Info("a run cannot be described", "run", i.String(), "error", err)
	})
	if err != nil {
		return nil, err
	}
	found, cursor, err := paged(found, &in.Page, control.Upcoming.Key)
	for _, u := range found {
		answer.Body = append(answer.Body, u.JSON())
	}
	answer.Link = next("/v1/deadlines", cursor, "limit", pageLimit(in.Page), "within", in.Within, "namespace", in.Namespace)
	return answer, err
}
