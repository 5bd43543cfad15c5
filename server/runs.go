package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// RunPath names a run in a path.
type RunPath struct {
	Namespace string `path:"namespace" doc:"The namespace of its workflow."`
	ID        string `path:"id" doc:"The id of the run."`
}

// instance returns the run. A name that no run can have is answered as an unknown run.
func (p RunPath) instance() (store.Instance, error) {
	i := store.Instance{Namespace: p.Namespace, ID: p.ID}
	if err := i.Check(); err != nil {
		return i, newProblem(http.StatusNotFound, "not-found", "Not found", client.NewOptionError("", err).Detail)
	}
	return i, nil
}

// oneRun returns an execution, and the number of one of its runs.
func (p RunPath) oneRun(of RunNumber) (i store.Instance, number int, err error) {
	if i, err = p.instance(); err == nil {
		number, err = client.ParseRunNumber(of.Run)
	}
	return i, number, err
}

// location returns the path of a run.
func location(i api.Started) string {
	return "/v1/runs/" + url.PathEscape(i.Namespace) + "/" + url.PathEscape(i.ID)
}

const runsPath, runPathPattern = "/v1/runs", "/v1/runs/{namespace}/{id}"

func (s *Server) runRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "getRun", Method: http.MethodGet, Path: runPathPattern, Tags: []string{"runs"},
		Summary:   "What a run is doing, until when, and what happens then",
		Responses: map[string]*huma.Response{"304": {Description: "Nothing but the time that is left is different from what If-None-Match names"}},
	}, s.getRun)
	route(s, RoleOperator, huma.Operation{
		OperationID: "deleteRun", Method: http.MethodDelete, Path: runPathPattern, Tags: []string{"runs"},
		Summary: "Delete a run that has ended, with its history",
	}, s.deleteRun)
	route(s, RoleViewer, huma.Operation{
		OperationID: "getOutput", Method: http.MethodGet, Path: runPathPattern + "/output",
		Tags: []string{"runs"}, Metadata: map[string]any{tellsData: true},
		Summary: "The output of a run",
		Description: "Answers 200 with the output as it is; 202 while the run goes on; 500 with a problem that holds the workflow's error if it has faulted, " +
			"and 409 if it was cancelled: the status never repeats that of the error.",
		Responses: map[string]*huma.Response{"202": {Description: "The run is still open", Content: problemContent(s)}},
	}, s.getOutput)
	route(s, RoleViewer, huma.Operation{
		OperationID: "getOutcome", Method: http.MethodGet, Path: runPathPattern + "/outcome", Tags: []string{"runs"},
		Summary: "How a run has ended, or that it has not",
	}, s.getOutcome)
	route(s, RoleViewer, huma.Operation{
		OperationID: "getHistory", Method: http.MethodGet, Path: runPathPattern + "/history", Tags: []string{"runs"},
		Summary: "What has happened in a run, record by record",
	}, s.getHistory)
}

// startRoutes serves starts of runs.
func (s *Server) startRoutes() {
	route(s, RoleAuthor, huma.Operation{
		OperationID: "startRun", Method: http.MethodPost, Path: runsPath, Tags: []string{"runs"}, DefaultStatus: http.StatusCreated,
		Summary:     "Start a run of a workflow that is deployed",
		Description: "Answers 201, or 200 with a run that was there already (onDuplicate return-existing or return-existing-active, or the same start with a definition). With `Prefer: wait=SECONDS` it answers 200 if the run ends in that time, and 202 otherwise.",
		Responses:   s.alsoAnswers(http.StatusOK, http.StatusAccepted), MaxBodyBytes: maxDefinition,
	}, s.startRun)
	route(s, RoleAuthor, huma.Operation{
		OperationID: "startWorkflow", Method: http.MethodPost, Path: startPath, Tags: []string{"runs"}, DefaultStatus: http.StatusCreated,
		Summary:     "Start a run of a version of a workflow",
		Description: "As startRun. For each workflow that is deployed, there is an operation of its own, which says what its input must be.",
		Responses:   s.alsoAnswers(http.StatusOK, http.StatusAccepted),
	}, s.startWorkflow)
}

// alsoAnswers describes further statuses of the answers of an operation, whose body is a run.
func (s *Server) alsoAnswers(statuses ...int) map[string]*huma.Response {
	all := map[string]*huma.Response{}
	for _, status := range statuses {
		all[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[api.Description](s)}},
		}
	}
	return all
}

type runAnswer struct {
	Status   int
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Applied  string `header:"Preference-Applied"`
	Body     api.Description
}

type startInput struct {
	Prefer string `header:"Prefer" doc:"wait=SECONDS waits so long for the run to end." example:"wait=30"`
	Body   api.StartRequest
}

type startWorkflowInput struct {
	VersionPath
	Prefer string          `header:"Prefer" doc:"wait=SECONDS waits so long for the run to end." example:"wait=30"`
	Body   *api.RunOptions `required:"false"`
}

func (s *Server) startWorkflow(ctx context.Context, in *startWorkflowInput) (*runAnswer, error) {
	request := api.StartRequest{Workflow: in.Namespace + "/" + in.Name, Version: in.Version}
	if in.Body != nil {
		request.RunOptions = *in.Body
	}
	return s.startRun(ctx, &startInput{in.Prefer, request})
}

func (s *Server) startRun(ctx context.Context, in *startInput) (*runAnswer, error) {
	if namespace, _, _ := strings.Cut(in.Body.Workflow, "/"); !callerOf(ctx).Sees(namespace) {
		return nil, newProblem(http.StatusNotFound, "not-deployed", "Not deployed", "the workflow "+in.Body.Workflow+" is not deployed")
	}
	in.Body.ID = cmp.Or(in.Body.ID, runIDOf(ctx))
	concerns(ctx, in.Body.Workflow)
	d, again, err := s.control.Start(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	concerns(ctx, in.Body.Workflow+" "+d.Instance().String())
	answer := &runAnswer{Status: http.StatusCreated, Location: location(d.Started), Body: d}
	if again {
		changesNothing(ctx)
		answer.Status = http.StatusOK
	}
	wait, given := preferredWait(in.Prefer)
	if !given {
		return answer, nil
	}
	return answer, s.awaitStarted(ctx, answer, wait)
}

// awaitStarted waits for a run that was just started, and then describes it.
func (s *Server) awaitStarted(ctx context.Context, answer *runAnswer, wait time.Duration) error {
	answer.Applied = "wait=" + strconv.Itoa(int(wait/time.Second))
	i := answer.Body.Instance()
	alsoWaits(ctx, wait)
	exchangeOf(ctx).releaseBody()
	waiting, done := untilStopped(ctx)
	defer done()
	_, err := s.control.Output(waiting, i, wait)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if answer.Body, err = s.control.DescribeStarted(ctx, answer.Body); err != nil {
		return err
	}
	answer.Status = http.StatusAccepted
	if answer.Body.ClosedAt != "" {
		answer.Status = http.StatusOK
	}
	return nil
}

// maxWait is the maximum time for which a request may wait.
const maxWait = 5 * time.Minute

// preferredWait returns the time for which a caller prefers to wait (RFC 7240). A preference that cannot be read counts as unknown.
func preferredWait(header string) (time.Duration, bool) {
	for _, part := range strings.Split(header, ",") {
		part, _, _ = strings.Cut(part, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if strings.EqualFold(strings.TrimSpace(name), "wait") && err == nil {
			return min(time.Duration(seconds)*time.Second, maxWait), true
		}
	}
	return 0, false
}

// RunNumber chooses one run of an execution.
type RunNumber struct {
	Run string `query:"run" default:"latest" doc:"Which run of an execution that has continued as new: its number, counted from 1, or latest." example:"2"`
}

// RunOrAll chooses one run of an execution, or all of them.
type RunOrAll struct {
	Run string `query:"run" default:"all" doc:"Only this run of an execution that has continued as new: its number, counted from 1, or latest; all for every run." example:"2"`
}

// onlyRun is the parameter of the next page; empty for all runs.
func (r RunOrAll) onlyRun() string {
	if r.Run == control.AllRuns {
		return ""
	}
	return r.Run
}

type getRunInput struct {
	RunPath
	RunNumber
	IfNoneMatch string `header:"If-None-Match" doc:"An ETag that was answered before."`
}

func (s *Server) getRun(ctx context.Context, in *getRunInput) (*runAnswer, error) {
	i, number, err := in.oneRun(in.RunNumber)
	if err != nil {
		return nil, err
	}
	version, err := s.control.Version(ctx, i)
	if err != nil {
		return nil, err
	}
	etag := `W/"` + version + `"`
	if number > 0 {
		etag = fmt.Sprintf(`W/"%s-run-%d"`, version, number)
	}
	if matches(in.IfNoneMatch, etag) {
		return nil, huma.ErrorWithHeaders(&notModified{}, http.Header{"ETag": {etag}})
	}
	d, err := s.control.DescribeRun(ctx, i, number)
	return &runAnswer{Status: http.StatusOK, ETag: etag, Body: d}, err
}

// matches reports whether an If-None-Match names an entity tag.
func matches(header, etag string) bool {
	for _, one := range strings.Split(header, ",") {
		one = strings.TrimSpace(one)
		if one == anything || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

// notModified is the answer to a caller that has the current version already.
type notModified struct{}

func (*notModified) Error() string  { return "not modified" }
func (*notModified) GetStatus() int { return http.StatusNotModified }

func (s *Server) deleteRun(ctx context.Context, in *RunPath) (*struct{}, error) {
	i, err := in.instance()
	if err != nil {
		return nil, err
	}
	concerns(ctx, i.String())
	verb, _ := control.VerbNamed(client.VerbDelete)
	if _, err := s.control.Version(ctx, i); err != nil { // deleting many runs skips missing ones, but deleting one missing run is a mistake
		return nil, err
	}
	_, failed := s.control.Send(ctx, verb, []store.Instance{i}, "")
	return nil, failed[0]
}

// endInput is a request for the end of a run.
type endInput struct {
	RunPath
	RunNumber
	Wait string `query:"wait" doc:"How long to wait for the run to end: 30s, or a number of seconds." example:"30s"`
}

type outcomeAnswer struct{ Body api.RunOutcome }

func (s *Server) getOutcome(ctx context.Context, in *endInput) (*outcomeAnswer, error) {
	outcome, err := awaited(ctx, s, in.RunPath, in.Wait, ofRun(in.RunNumber, s.control.OutcomeOf))
	return &outcomeAnswer{outcome}, err
}

// ofRun applies ask to one run of an execution.
func ofRun[T any](of RunNumber, ask func(context.Context, control.RunOf, time.Duration) (T, error)) func(context.Context, store.Instance, time.Duration) (T, error) {
	return func(ctx context.Context, i store.Instance, within time.Duration) (found T, err error) {
		number, err := client.ParseRunNumber(of.Run)
		if err != nil {
			return found, err
		}
		return ask(ctx, control.RunOf{Execution: i, Number: number}, within)
	}
}

// awaited applies ask to a run, and waits for the time in the request.
func awaited[T any](ctx context.Context, s *Server, run RunPath, wait string, ask func(context.Context, store.Instance, time.Duration) (T, error)) (found T, err error) {
	i, err := run.instance()
	if err != nil {
		return found, err
	}
	within, err := waitFor(wait)
	if err != nil {
		return found, err
	}
	alsoWaits(ctx, within)
	waiting, done := untilStopped(ctx)
	defer done()
	found, err = ask(waiting, i, within)
	if err != nil && errors.Is(context.Cause(waiting), errStopping) { // the server was stopped during the search
		found, err = ask(ctx, i, 0)
	}
	if outage := outageOf(ctx); outage != nil { // the found state may be outdated
		return *new(T), outage
	}
	if refused := exchangeOf(ctx).stillAllowed(); refused != nil { // its token was revoked during the wait
		return *new(T), refused
	}
	return found, err
}

type outputAnswer struct {
	Status     int
	RetryAfter string `header:"Retry-After"`
	Body       any
}

func (s *Server) getOutput(ctx context.Context, in *endInput) (*outputAnswer, error) {
	output, err := awaited(ctx, s, in.RunPath, in.Wait, ofRun(in.RunNumber, s.control.OutputOf))
	var goesOn *control.NotEndedError
	if errors.As(err, &goesOn) {
		p := newProblem(http.StatusAccepted, "not-ended", "The run has not ended", err.Error())
		return nil, huma.ErrorWithHeaders(p, http.Header{"Retry-After": {"1"}})
	}
	return &outputAnswer{Status: http.StatusOK, Body: output}, err
}

// waitFor parses the time for which a request waits.
func waitFor(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := api.ParseSpan(text)
	if err != nil {
		return 0, &client.OptionError{Field: "wait", Detail: err.Error()}
	}
	if wait > maxWait {
		p := newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", fmt.Sprintf("wait: a request may wait for at most %s: ask again then", maxWait))
		p.Field, p.Limit = "wait", &api.LimitExceeded{Name: "waitSeconds", Max: int(maxWait / time.Second), Value: int(wait / time.Second)}
		return 0, p
	}
	return wait, nil
}

type historyInput struct {
	RunPath
	RunOrAll
	Page
	Wait string `query:"wait" doc:"How long to wait for a record if there is none: 30s, or a number of seconds." example:"30s"`
}

type historyAnswer struct {
	Link string `header:"Link" doc:"The next page, if there is one."`
	Body api.History
}

func (s *Server) getHistory(ctx context.Context, in *historyInput) (*historyAnswer, error) {
	p, err := awaited(ctx, s, in.RunPath, in.Wait, func(ctx context.Context, i store.Instance, wait time.Duration) (control.HistoryPage, error) {
		return s.control.History(ctx, i, control.HistoryQuery{Run: in.Run, Cursor: in.Cursor, Limit: in.Limit, Wait: wait})
	})
	path := location(api.Started{Namespace: in.Namespace, ID: in.ID}) + "/history"
	return &historyAnswer{next(path, p.Next, "limit", pageLimit(in.Page), "run", in.onlyRun()), p.History}, err
}
