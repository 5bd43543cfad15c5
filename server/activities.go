package server

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/matching"
)

// This file serves the requests of outside workers: polls for activities, and reports.

type (
	pollRequest      struct{ Body api.ActivityPoll }
	pollAnswer       struct{ Body api.Activities }
	heartbeatRequest struct{ Body api.ActivityHeartbeat }
	heartbeatAnswer  struct{ Body api.ActivityHeartbeatReply }
	completeRequest  struct{ Body api.ActivityResult }
	failRequest      struct{ Body api.ActivityFailure }
	returnRequest    struct{ Body api.ActivityReturn }
	stopRequest      struct{ Body api.ActivityStop }
	reportRequest    struct{ Body api.ActivityReports }
	reportAnswer     struct{ Body api.ActivityReportsReply }
	nothing          struct{}
)

func (s *Server) activityRoutes() {
	operation := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodPost, Path: "/v1/activities/" + path, Tags: []string{"activities"}, Summary: summary, Metadata: map[string]any{unaudited: true}}
	}
	poll := operation("pollActivities", "poll", "Take activities to perform; if there are none, wait for them")
	poll.Metadata[holds] = true
	route(s, RoleAuthor, poll, s.pollActivities)
	route(s, RoleAuthor, operation("heartbeatActivity", "heartbeat", "Say that the worker of an attempt is alive, and how far it has come"), s.heartbeatActivity)
	route(s, RoleAuthor, operation("completeActivity", "complete", "Report that an attempt has succeeded"), func(ctx context.Context, in *completeRequest) (*nothing, error) {
		return reported(ctx, in.Body.Token, func() error { return s.control.CompleteActivity(ctx, in.Body) })
	})
	route(s, RoleAuthor, operation("failActivity", "fail", "Report that an attempt has failed"), func(ctx context.Context, in *failRequest) (*nothing, error) {
		return reported(ctx, in.Body.Token, func() error { return s.control.FailActivity(ctx, in.Body) })
	})
	route(s, RoleAuthor, operation("reportActivities", "report", "Report how several attempts have ended; each is answered as if it had come alone"), s.reportActivities)
	route(s, RoleAuthor, operation("returnActivity", "return", "Give an activity back that is not performed: another worker may take it at once"), func(ctx context.Context, in *returnRequest) (*nothing, error) {
		return reported(ctx, in.Body.Token, func() error { return s.control.ReturnActivity(ctx, in.Body) })
	})
	stop := operation("stopPolling", "stop", "Answer the polls of a worker that wait, with nothing if there is nothing: what a poll that is broken off has taken is lost until its time is over")
	route(s, RoleAuthor, stop, func(ctx context.Context, in *stopRequest) (*nothing, error) {
		s.polls.end(pollsOf{callerOf(ctx).Name, in.Body.Worker})
		return &nothing{}, nil
	})
}

// polls are the polls that wait, so that the polls of a stopping worker can be answered.
type polls struct {
	mu      sync.Mutex
	waiting map[pollsOf]map[*context.CancelFunc]bool
}

// pollsOf identifies the polls of one worker of one caller. No caller can end the polls of another one.
type pollsOf struct{ caller, worker string }

// wait returns a context that also ends when the polls of the worker are ended.
func (p *polls) wait(ctx context.Context, of pollsOf) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[pollsOf]map[*context.CancelFunc]bool{}
	}
	if p.waiting[of] == nil {
		p.waiting[of] = map[*context.CancelFunc]bool{}
	}
	p.waiting[of][&cancel] = true
	return ctx, func() { p.leave(of, &cancel) }
}

func (p *polls) leave(of pollsOf, cancel *context.CancelFunc) {
	(*cancel)()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting[of], cancel)
	if len(p.waiting[of]) == 0 {
		delete(p.waiting, of)
	}
}

func (p *polls) end(of pollsOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for cancel := range p.waiting[of] {
		(*cancel)()
	}
}

func (s *Server) pollActivities(ctx context.Context, in *pollRequest) (*pollAnswer, error) {
	chosen, err := choiceOf(ctx, ChoiceQuery{Namespace: in.Body.Namespace})
	if err != nil {
		return nil, err
	}
	waiting, done := untilStopped(ctx)
	defer done()
	waiting, leave := s.polls.wait(waiting, pollsOf{callerOf(ctx).Name, in.Body.Worker})
	defer leave()
	alsoWaits(ctx, in.Body.Wait.Duration)
	found, err := s.control.PollActivities(waiting, in.Body, chosen.Namespaces)
	if outage := outageOf(ctx); outage != nil && len(found.Activities) == 0 {
		return nil, outage
	}
	if ended := context.Cause(waiting); ended != nil && (errors.Is(err, ended) || errors.Is(err, context.Canceled)) {
		err = nil // the poll was ended during its search
	}
	if err != nil || len(found.Activities) == 0 {
		return &pollAnswer{found}, err
	}
	if refused := exchangeOf(ctx).stillAllowed(); refused != nil { // its token was revoked during the wait
		for _, a := range found.Activities {
			err = errors.Join(err, s.control.ReturnActivity(ctx, api.ActivityReturn{Token: a.Token}))
		}
		return nil, cmp.Or(err, refused)
	}
	return &pollAnswer{found}, nil
}

func (s *Server) heartbeatActivity(ctx context.Context, in *heartbeatRequest) (*heartbeatAnswer, error) {
	if err := maySee(ctx, in.Body.Token); err != nil {
		return nil, err
	}
	heard, err := s.control.HeartbeatActivity(ctx, in.Body)
	return &heartbeatAnswer{heard}, err
}

// reported answers a report about an attempt.
func reported(ctx context.Context, token string, report func() error) (*nothing, error) {
	if err := maySee(ctx, token); err != nil {
		return nil, err
	}
	return &nothing{}, report()
}

func (s *Server) reportActivities(ctx context.Context, in *reportRequest) (*reportAnswer, error) {
	answer := &reportAnswer{api.ActivityReportsReply{
		Completed: make([]api.ActivityReportReply, len(in.Body.Completed)), Failed: make([]api.ActivityReportReply, len(in.Body.Failed)),
	}}
	var reporting sync.WaitGroup
	for n, r := range in.Body.Completed {
		reporting.Go(func() {
			_, err := reported(ctx, r.Token, func() error { return s.control.CompleteActivity(ctx, r) })
			answer.Body.Completed[n] = s.answered(ctx, err)
		})
	}
	for n, f := range in.Body.Failed {
		reporting.Go(func() {
			_, err := reported(ctx, f.Token, func() error { return s.control.FailActivity(ctx, f) })
			answer.Body.Failed[n] = s.answered(ctx, err)
		})
	}
	reporting.Wait()
	return answer, nil
}

// answered returns the answer to one of several reports.
func (s *Server) answered(ctx context.Context, err error) api.ActivityReportReply {
	if err == nil {
		return api.ActivityReportReply{Status: http.StatusNoContent}
	}
	p := s.problem(ctx, err)
	return api.ActivityReportReply{Status: p.Status, Problem: p}
}

// maySee returns an error unless the caller sees the run that a token belongs to.
func maySee(ctx context.Context, token string) error {
	run, err := matching.RunOf(token)
	if err == nil && !callerOf(ctx).Sees(run.Namespace) {
		err = notFound("run " + run.String())
	}
	return err
}
