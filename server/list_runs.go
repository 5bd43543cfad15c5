package server

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// listRoutes serves the lists and counts of runs.
func (s *Server) listRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "listRuns", Method: http.MethodGet, Path: runsPath, Tags: []string{"runs"},
		Summary: "Runs, the newest first, without their data",
	}, s.listRuns)
	route(s, RoleViewer, huma.Operation{
		OperationID: "countRuns", Method: http.MethodGet, Path: runsPath + "/count", Tags: []string{"runs"},
		Summary: "How many runs there are, also by what they are",
	}, s.countRuns)
	route(s, RoleViewer, huma.Operation{
		OperationID: "findRuns", Method: http.MethodGet, Path: runsPath + "/find", Tags: []string{"runs"},
		Summary: "The runs that a name means: those with this id, or else those whose id begins so",
	}, s.findRuns)
}

// Page is the type of package api.
type Page = api.Page

// PageQuery selects runs, and a page of them.
type PageQuery struct {
	ChoiceQuery
	Page
}

// ChoiceQuery is the type of package api.
type ChoiceQuery = api.ChoiceQuery

// choiceOf returns the selection of a query, limited to the runs that the caller sees.
func choiceOf(ctx context.Context, q ChoiceQuery) (control.Choice, error) {
	c := callerOf(ctx)
	chosen := control.Choice{Where: q.Where, Namespaces: c.Namespaces}
	if err := checkNamespace(q.Namespace); err != nil {
		return chosen, err
	}
	switch {
	case q.Namespace != "" && !c.Sees(q.Namespace), !c.Everywhere && len(c.Namespaces) == 0:
		return chosen, notFound("namespace " + q.Namespace)
	case q.Namespace != "":
		chosen.Namespaces = []string{q.Namespace}
	case c.Everywhere:
		chosen.Namespaces = nil
	}
	return chosen, nil
}

// checkNamespace refuses an invalid namespace. An empty text means all namespaces.
func checkNamespace(namespace string) error {
	if namespace == "" {
		return nil
	}
	if err := store.CheckNamespace(namespace); err != nil {
		return client.NewOptionError("namespace", err)
	}
	return nil
}

// next is the Link of the next page; empty on the last page.
func next(path string, cursor string, parameters ...string) string {
	if cursor == "" {
		return ""
	}
	query := url.Values{"cursor": {cursor}}
	for n := 0; n < len(parameters); n += 2 {
		if parameters[n+1] != "" {
			query.Set(parameters[n], parameters[n+1])
		}
	}
	return "<" + path + "?" + query.Encode() + `>; rel="next"`
}

type listInput struct {
	PageQuery
	Summary bool `query:"summary" doc:"Also say in a few words what each run is doing and what happens next: each is read for that."`
}

type runsAnswer struct {
	Link       string    `header:"Link" doc:"The next page, if there is one."`
	Unreadable int       `header:"Unreadable-Runs" doc:"How many runs would stand in the page and cannot be read; absent if there are none."`
	Body       []api.Run `nullable:"false"`
}

func (s *Server) listRuns(ctx context.Context, in *listInput) (*runsAnswer, error) {
	chosen, err := choiceOf(ctx, in.ChoiceQuery)
	if err != nil {
		return nil, err
	}
	p, err := s.control.List(ctx, control.RunQuery{Choice: chosen, Cursor: in.Cursor, Limit: in.Limit, Summary: in.Summary})
	summary := ""
	if in.Summary {
		summary = "true"
	}
	link := next(runsPath, p.Next, "where", in.Where, "namespace", in.Namespace, "limit", strconv.Itoa(in.Limit), "summary", summary)
	return &runsAnswer{link, p.Unreadable, p.Runs}, err
}

type findInput struct {
	Name      string `query:"name" required:"true" doc:"The id of a run, the beginning of one, or namespace/id." example:"order-7"`
	Namespace string `query:"namespace" doc:"Only runs of this namespace."`
}

type foundAnswer struct{ Body api.FoundRuns }

func (s *Server) findRuns(ctx context.Context, in *findInput) (*foundAnswer, error) {
	chosen, err := choiceOf(ctx, ChoiceQuery{Namespace: in.Namespace})
	if err != nil {
		return nil, err
	}
	found, err := s.control.Find(ctx, in.Name, chosen.Namespaces)
	return &foundAnswer{found}, err
}

type countQuery struct {
	ChoiceQuery
	By string `query:"by" doc:"What they are counted by: status, workflow, error, label.NAME, or another field of a filter."`
}

type countAnswer struct{ Body api.Count }

func (s *Server) countRuns(ctx context.Context, in *countQuery) (*countAnswer, error) {
	chosen, err := choiceOf(ctx, in.ChoiceQuery)
	if err != nil {
		return nil, err
	}
	counted, err := s.control.Count(ctx, chosen, in.By)
	return &countAnswer{counted}, err
}
