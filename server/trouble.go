package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
)

type (
	troubleInput struct {
		ChoiceQuery
		All bool `query:"all" doc:"Also the groups that are acknowledged."`
	}
	troubleAnswer struct{ Body api.Trouble }
	troubleChoice struct{ Body api.TroubleChoice }
	groupsAnswer  struct {
		Body []api.TroubleGroup `nullable:"false"`
	}
)

// troubleRoutes serves the runs that go wrong, in groups, and who knows of them.
func (s *Server) troubleRoutes() {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/v1/trouble" + path, Tags: []string{"runs"}, Summary: summary}
	}
	list := operation("listTrouble", http.MethodGet, "", "The runs that go wrong, in groups of the same error, workflow, task and host")
	list.Description = "Groups that are acknowledged are left out until trouble of their kind begins again."
	route(s, RoleViewer, list, func(ctx context.Context, in *troubleInput) (*troubleAnswer, error) {
		chosen, err := in.choice(ctx)
		if err != nil {
			return nil, err
		}
		found, err := s.control.Trouble(ctx, chosen, in.All)
		return &troubleAnswer{found}, err
	})
	acknowledge := operation("acknowledgeTrouble", http.MethodPost, "/acknowledge", "Leave groups of trouble out of the list until trouble of their kind begins again")
	acknowledge.Description = "All groups are acknowledged or none. Their runs go on as they are. Answers with the groups."
	route(s, RoleOperator, acknowledge, s.changesTrouble(s.control.Acknowledge))
	route(s, RoleOperator, operation("unacknowledgeTrouble", http.MethodPost, "/unacknowledge", "Take back that groups of trouble are acknowledged"), s.changesTrouble(s.control.Unacknowledge))
}

// changesTrouble returns what answers a change of groups of trouble, of those that the caller sees.
func (s *Server) changesTrouble(change func(context.Context, api.TroubleChoice, []string) ([]api.TroubleGroup, error)) func(context.Context, *troubleChoice) (*groupsAnswer, error) {
	return func(ctx context.Context, in *troubleChoice) (*groupsAnswer, error) {
		exchangeOf(ctx).reason = in.Body.Reason
		chosen, err := ChoiceQuery{}.choice(ctx)
		if err != nil {
			return nil, err
		}
		all, err := change(ctx, in.Body, chosen.Namespaces)
		return &groupsAnswer{all}, err
	}
}
