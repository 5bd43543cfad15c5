package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// commandRoutes serves the commands of operators to one run, or to all runs that a filter selects.
func (s *Server) commandRoutes() {
	for _, v := range append(control.Verbs(), control.RetryNow()) {
		if v.Name == string(store.VerbRetry) { // its answer is another run: see retryRoutes
			continue
		}
		route(s, RoleOperator, huma.Operation{
			OperationID: operationOf(v) + "Runs", Method: http.MethodPost, Path: runsPath + "/" + v.Name, Tags: []string{"commands"},
			Summary:     v.Name + " several runs",
			Description: "Nothing is promised of all together: the outcome of each run is listed.",
		}, func(ctx context.Context, in *bulkInput) (*bulkAnswer, error) {
			return s.bulkOutcomes(ctx, &in.Body, func(all []store.Instance) ([]api.Outcome, []error) {
				if in.Body.DryRun {
					return s.control.Check(ctx, v, all)
				}
				return s.control.Send(ctx, v, all, in.Body.Reason)
			})
		})
		if v.Name == client.VerbDelete { // for one run, that is DELETE
			continue
		}
		route(s, RoleOperator, huma.Operation{
			OperationID: operationOf(v) + "Run", Method: http.MethodPost, Path: runPathPattern + "/" + v.Name,
			Tags: []string{"commands"}, DefaultStatus: http.StatusAccepted,
			Summary:     v.Name + " a run",
			Description: "Answers 202 when the command is stored: a worker carries it out. A run whose state forbids it is a problem with status 409.",
		}, func(ctx context.Context, in *commandInput) (*acceptedAnswer, error) { return s.command(ctx, v, in) })
	}
}

// operationOf returns the prefix of the operations of a verb.
func operationOf(v control.Verb) string {
	if v.Name == control.RetryNow().Name {
		return "retryNow"
	}
	return v.Name
}

type commandInput struct {
	RunPath
	Body *api.CommandRequest `required:"false"`
}

type acceptedAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     api.Outcome
}

func (s *Server) command(ctx context.Context, v control.Verb, in *commandInput) (*acceptedAnswer, error) {
	i, err := in.instance()
	if err != nil {
		return nil, err
	}
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	exchangeOf(ctx).reason = reason
	outcomes, failed := s.control.Send(ctx, v, []store.Instance{i}, reason)
	concernsRuns(ctx, []store.Instance{i}, failed, false)
	if failed[0] != nil {
		return nil, failed[0]
	}
	return &acceptedAnswer{http.StatusAccepted, location(api.NewStarted(i)), outcomes[0]}, nil
}

type bulkInput struct{ Body api.BulkRequest }

type bulkAnswer struct{ Body api.Outcomes }

// maxBulk is the maximum number of runs that one request may command.
const maxBulk = 1000

// bulk sends a command to the runs that a request names or selects, if the caller sees them, and answers with their outcomes.
func (s *Server) bulk(ctx context.Context, in *api.BulkRequest, send func([]store.Instance) []error) (*bulkAnswer, error) {
	return s.bulkOutcomes(ctx, in, func(all []store.Instance) ([]api.Outcome, []error) {
		outcomes := make([]api.Outcome, len(all))
		for n, i := range all {
			outcomes[n] = api.Outcome{Run: i.String(), Outcome: api.OutcomeAccepted}
		}
		return outcomes, send(all)
	})
}

// bulkOutcomes is bulk for commands whose outcomes contain more than the acceptance.
func (s *Server) bulkOutcomes(ctx context.Context, in *api.BulkRequest, send func([]store.Instance) ([]api.Outcome, []error)) (*bulkAnswer, error) {
	answer := &bulkAnswer{api.Outcomes{Outcomes: []api.Outcome{}}}
	chosen, err := s.chosen(ctx, in)
	if err != nil {
		return nil, err
	}
	answer.Body.More, answer.Body.Unreadable = chosen.More, chosen.Unreadable
	var sees []store.Instance
	for _, i := range chosen.Runs {
		if callerOf(ctx).Sees(i.Namespace) {
			sees = append(sees, i)
		} else {
			answer.Body.Outcomes = append(answer.Body.Outcomes, refusedOutcome(i, notFound("run "+i.String())))
		}
	}
	exchangeOf(ctx).reason = in.Reason
	outcomes, failed := send(sees)
	concernsRuns(ctx, sees, failed, in.DryRun)
	for n, err := range failed {
		if err != nil {
			outcomes[n] = refusedOutcome(sees[n], s.problem(ctx, err))
		}
		if errors.As(err, new(*client.ContinuedError)) {
			outcomes[n].Outcome = api.OutcomeSkipped
		}
	}
	answer.Body.Outcomes = append(answer.Body.Outcomes, outcomes...)
	return answer, nil
}

func refusedOutcome(i store.Instance, p *api.Problem) api.Outcome {
	return api.Outcome{Run: i.String(), Outcome: api.OutcomeRefused, Problem: p}
}

// chosen returns the runs that a request names, or that its filter selects.
func (s *Server) chosen(ctx context.Context, in *api.BulkRequest) (all control.Selection, err error) {
	switch {
	case (len(in.Runs) > 0) == (in.Where != ""):
		return all, &client.OptionError{Field: "runs", Detail: "either these or `where` must be given"}
	case in.Where != "":
		chosen, err := choiceOf(ctx, ChoiceQuery{Where: in.Where})
		if err != nil {
			return all, err
		}
		return s.control.Select(ctx, chosen, maxBulk)
	}
	for _, name := range in.Runs {
		i, err := store.ParseInstance(name)
		if err != nil {
			return all, client.NewOptionError("runs", err)
		}
		all.Runs = append(all.Runs, i)
	}
	return all, nil
}
