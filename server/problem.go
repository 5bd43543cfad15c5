package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// This file is the one place that maps errors to problems.

func newProblem(status int, name, title, detail string) *api.Problem {
	return &api.Problem{Type: api.ProblemBase + name, Title: title, Status: status, Detail: detail}
}

func notFound(what string) *api.Problem {
	return newProblem(http.StatusNotFound, "not-found", "Not found", "there is no "+what)
}

func conflict(err error) *api.Problem {
	return newProblem(http.StatusConflict, "conflict", "Conflict", err.Error())
}

// problem returns the problem of an error. An error that the caller did not cause is logged, and its problem does not contain its text.
func (s *Server) problem(ctx context.Context, err error) *api.Problem {
	if p := callersProblem(err); p != nil && !errors.As(err, new(store.PartError)) {
		if store.IsUnreadable(err) {
			p.Applied = exchangeOf(ctx).applied()
		}
		return p
	}
	var lost *control.LostStartError
	if errors.As(err, &lost) {
		return lostStart(lost)
	}
	if ctx.Err() != nil {
		return newProblem(http.StatusServiceUnavailable, "interrupted", "Interrupted", "the request was given up before it was answered")
	}
	if p := s.damage(ctx, err); p != nil {
		return p
	}
	return s.unavailable(ctx, err)
}

// damage returns the problem of a request that needs a damaged part of the store, or nil.
func (s *Server) damage(ctx context.Context, err error) *api.Problem {
	found, damaged := s.control.Monitor.Damage(err)
	if !damaged {
		return nil
	}
	s.log.Error("a request failed", "error", err)
	p := unreadable("something that is stored is damaged")
	x := exchangeOf(ctx)
	if p.Applied = x.applied(); x != nil && x.caller.Role != "" {
		found = definition.Granted(x.caller.Audience()).Ailment(found)
		p.Detail, p.Help = found.What, found.Fix
	}
	return p
}

// unreadable is the problem of stored data that cannot be read. Asking again does not help.
func unreadable(what string) *api.Problem {
	p := newProblem(http.StatusInternalServerError, "unreadable", "Unreadable data", what)
	p.Help = "swrun doctor lists the entries that cannot be read, and their remedies"
	return p
}

// callersProblem returns the problem of an error that the caller can correct, or nil.
func callersProblem(err error) *api.Problem {
	var known *api.Problem
	if errors.As(err, &known) {
		return known
	}
	for _, problemOf := range []func(error) *api.Problem{startingProblem, workflowProblem, inputProblem, functionProblem, continuedProblem, runProblem, requestProblem, refusal} {
		if p := problemOf(err); p != nil {
			return p
		}
	}
	return nil
}

// workflowProblem returns the problem of an error about documents and workflows, or nil.
func workflowProblem(err error) *api.Problem {
	var (
		diagnostics dsl.Diagnostics
		deployed    *swrun.DeployedError
		undeployed  *swrun.NotDeployedError
		foreign     *definition.ForeignError
	)
	switch {
	case errors.As(err, &diagnostics):
		p := newProblem(http.StatusUnprocessableEntity, "invalid-document", "The document is not valid", diagnostics.Error())
		p.Diagnostics = api.Diagnostics(diagnostics)
		return p
	case errors.As(err, &foreign):
		p := newProblem(http.StatusForbidden, "forbidden", "Not allowed", err.Error())
		p.Help = foreign.Help()
		return p
	case errors.As(err, &deployed):
		p := newProblem(http.StatusConflict, "already-deployed", "Another document is deployed", "another document is deployed as "+deployed.Workflow)
		p.Help = "change document.version"
		return p
	case errors.As(err, &undeployed):
		return newProblem(http.StatusNotFound, "not-deployed", "Not deployed", err.Error())
	}
	return nil
}

// maxMisfits is the maximum number of misfits of an input in a problem.
const maxMisfits = 100

// inputProblem returns the problem of an input that a workflow refuses, or nil.
func inputProblem(err error) *api.Problem {
	var unfit *client.UnfitInputError
	if !errors.As(err, &unfit) {
		return nil
	}
	p := newProblem(http.StatusUnprocessableEntity, api.ProblemInput, "The workflow refuses the input", unfit.Error())
	p.Field, p.WorkflowError = "input", api.Error(unfit.Fault)
	for _, m := range unfit.Misfits[:min(len(unfit.Misfits), maxMisfits)] {
		p.Errors = append(p.Errors, api.FieldError{Location: "body.input" + m.Pointer, Message: m.Message})
	}
	return limited(p, unfit.Fault)
}

// functionProblem returns the problem of an error about functions of the default catalog, or nil.
func functionProblem(err error) *api.Problem {
	var (
		deployed *swrun.FunctionDeployedError
		damaged  *function.DamagedError
		misnamed *swrun.FunctionNameError
	)
	switch {
	case errors.As(err, &deployed):
		return newProblem(http.StatusConflict, "already-deployed", "Another function is deployed", err.Error())
	case errors.As(err, &damaged):
		p := newProblem(http.StatusInternalServerError, "damaged-function", "The function is damaged", damaged.Error())
		p.Help = "delete it, and deploy it again"
		return p
	case errors.As(err, &misnamed):
		return invalid("name", misnamed)
	}
	return nil
}

// runProblem returns the problem of an error about the state of a run, or nil.
func runProblem(err error) *api.Problem {
	var (
		exists  *swrun.RunExistsError
		refused *control.RefusedError
		ended   *control.EndedError
		other   *events.OtherEventError
		batch   *control.RefusedEventsError
	)
	switch {
	case errors.As(err, &other):
		p := newProblem(http.StatusUnprocessableEntity, "other-event", "Another event was published so", err.Error())
		p.Help = events.OtherEventHelp
		p.Errors = refusedEvents(err)
		return p
	case errors.As(err, &batch):
		p := invalid("body", err)
		p.Errors = refusedEvents(err)
		if fault := errors.AsError(err); fault != nil {
			limited(p, fault)
		}
		return p
	case errors.As(err, new(*matching.SupersededError)):
		p := newProblem(http.StatusConflict, "attempt-superseded", "The attempt was superseded", err.Error())
		p.Help = "stop; what was done may count all the same: the idempotency key of the activity tells"
		return p
	case errors.As(err, &exists):
		p := newProblem(http.StatusConflict, "run-exists", "There is such a run already", err.Error())
		p.Help = "choose another id, or onDuplicate return-existing for a run of the same workflow, return-existing-active for one that has not ended"
		return p
	case errors.As(err, new(*client.QuarantinedError)):
		return newProblem(http.StatusConflict, "quarantined", "The run is quarantined", err.Error())
	case errors.As(err, &refused):
		p := conflict(err)
		p.Help = refused.Help
		return p
	case errors.As(err, &ended):
		return endedProblem(ended)
	}
	return nil
}

// continuedProblem returns the problem of a run that needs a task to fork from, of a run that another run continues already, or of a run that is
// followed by the next run of its execution; or nil.
func continuedProblem(err error) *api.Problem {
	var continued *client.ContinuedError
	var earlier *client.EarlierRunError
	if errors.As(err, &earlier) {
		p := conflict(err)
		p.Help = earlier.Help()
		return p
	}
	var unfailed *client.NotFailedError
	if errors.As(err, &unfailed) {
		p := conflict(err)
		p.Help = unfailed.Help()
		return p
	}
	if !errors.As(err, &continued) {
		return nil
	}
	p := newProblem(http.StatusConflict, api.ProblemContinued, "Another run goes on in its place", err.Error())
	p.Help = continued.Help()
	return p
}

// invalid is the problem of a member of a request.
func invalid(field string, err error) *api.Problem {
	p := newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", err.Error())
	p.Field = field
	return p
}

// requestProblem returns the problem of an error about the content of the request, or nil.
func requestProblem(err error) *api.Problem {
	var (
		option  *client.OptionError
		where   *filter.Error
		token   *access.InvalidError
		rule    *queue.Error
		setting *settings.Error
	)
	switch {
	case errors.As(err, &option):
		return optionProblem(option)
	case errors.As(err, &token):
		p := invalid(token.Field, token)
		if token.Limit != nil {
			limited(p, token.Limit)
		}
		return p
	case errors.As(err, &rule):
		return invalid(rule.Field, rule)
	case errors.As(err, &setting):
		return invalid(setting.Name, setting)
	case errors.As(err, &where):
		p := newProblem(http.StatusUnprocessableEntity, "invalid-filter", "The filter cannot be read", err.Error())
		p.Field, p.Help = "where", where.Hint
		return p
	case errors.As(err, new(*matching.TokenError)):
		return invalid("token", err)
	case errors.As(err, new(*client.CursorError)):
		return invalid("cursor", err)
	}
	if fault := errors.AsError(err); fault != nil {
		return limited(newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", fault.Detail), fault)
	}
	return nil
}

// refusal returns the problem of a refusal by the store, or nil.
func refusal(err error) *api.Problem {
	if store.IsUnreadable(err) {
		p := unreadable(err.Error())
		var replaceable *store.ReplaceableError
		if errors.As(err, &replaceable) {
			p.Help = replaceable.Help("")
		}
		return p
	}
	switch store.RefusedAs(err) {
	case store.NoSuch:
		return newProblem(http.StatusNotFound, "not-found", "Not found", err.Error())
	case store.Conflict:
		return conflict(err)
	case store.Closed:
		return newProblem(http.StatusConflict, "run-ended", "The run has ended", err.Error())
	case store.TooMany:
		return newProblem(http.StatusTooManyRequests, "too-many", "Too many", err.Error())
	case store.Limit:
		return newProblem(http.StatusRequestEntityTooLarge, "too-large", "Too large", err.Error())
	}
	return nil
}

// optionProblem is about one member of a request.
func optionProblem(o *client.OptionError) *api.Problem {
	p := newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", o.Error())
	p.Field = o.Field
	if o.Limit != nil {
		limited(p, o.Limit)
	}
	return p
}

// endedProblem is the problem of a run without an output. Its status is about the request; it contains the workflow's error.
func endedProblem(e *control.EndedError) *api.Problem {
	fault := e.Outcome.Fault
	if e.Outcome.Status == interpreter.StatusCancelled {
		return newProblem(http.StatusConflict, "run-cancelled", "The run was cancelled", e.Error())
	}
	p := newProblem(http.StatusInternalServerError, "run-faulted", "The run has faulted", e.Error())
	if e.Outcome.TimedOut {
		p.Type, p.Title = api.ProblemBase+"run-timed-out", "The run has timed out"
	}
	p.WorkflowError = api.Error(fault)
	return p
}

// limited adds the limit of an error.
func limited(p *api.Problem, e *errors.Error) *api.Problem {
	name, ok := e.Extensions["limit"].(string)
	if !ok {
		return p
	}
	maximum, _ := e.Extensions["max"].(int)
	value, _ := e.Extensions["value"].(int)
	switch limits.Name(name) {
	case limits.Input, limits.Progress, limits.Event: // data, and not a name
		p.Status, p.Type, p.Title = http.StatusRequestEntityTooLarge, api.ProblemBase+"too-large", "Too large"
	}
	p.Limit = &api.LimitExceeded{Name: name, Max: maximum, Value: value}
	return p
}

// libraryProblem turns refusals of the HTTP library, before a handler is called, into problems of this API. It repeats no values, because they may be
// large or secret.
func libraryProblem(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := newProblem(m.Status, "invalid-request", "Invalid request", m.Detail)
	for _, e := range m.Errors {
		if e.Message == validation.MsgExpectedMatchExactlyOneSchema { // only api.Span has several schemas
			e.Message = "expected a number of seconds, a text such as 90s or PT1M30S, or none"
		}
		p.Errors = append(p.Errors, api.FieldError{Location: e.Location, Message: e.Message})
	}
	switch m.Status {
	case http.StatusRequestEntityTooLarge:
		p = bodyTooLarge(ctx.Header("Content-Length"), int(ctx.Operation().MaxBodyBytes)-1)
	case http.StatusUnsupportedMediaType:
		p.Type, p.Title, p.Detail = api.ProblemBase+"unsupported-media-type", "Unsupported media type", "the body must be application/json"
	case http.StatusRequestTimeout:
		p.Type, p.Title = api.ProblemBase+"request-timeout", "The request took too long"
	case http.StatusInternalServerError: // the body could not be read: the caller has disconnected
		p.Status, p.Detail = http.StatusBadRequest, "the body of the request could not be read"
	}
	if p.Detail == "validation failed" && len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Location + ": " + p.Errors[0].Message
	}
	return p, nil
}

// describeProblems adds problems to the possible answers of an operation.
func (s *Server) describeProblems(o *huma.Operation) {
	if o.Responses == nil {
		o.Responses = map[string]*huma.Response{}
	}
	o.Responses["default"] = &huma.Response{
		Description: "A problem (RFC 9457)",
		Content:     problemContent(s),
	}
}

// methodNotAllowed is the problem of a path that does not support the method.
func methodNotAllowed(method, path string) *api.Problem {
	return newProblem(http.StatusMethodNotAllowed, "method-not-allowed", "Method not allowed", strconv.Quote(path)+" has no method "+method)
}

// bodyTooLarge is the problem of a body with more than most bytes. The header Content-Length may contain its size.
func bodyTooLarge(length string, most int) *api.Problem {
	p := newProblem(http.StatusRequestEntityTooLarge, "too-large", "Too large", fmt.Sprintf("the body of the request may have at most %s", limits.Bytes(most)))
	p.Limit = &api.LimitExceeded{Name: "body", Max: most}
	if n, err := strconv.Atoi(length); err == nil && n > most {
		p.Limit.Value = n
	}
	return p
}
