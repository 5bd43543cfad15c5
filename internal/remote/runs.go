package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/store"
)

// The requests about runs.

// MaxPage is the maximum number of runs or records in an answer of a server.
const MaxPage = 1000

// List returns a page of runs, the newest first.
func (d *Deployment) List(ctx context.Context, q control.RunQuery) (control.RunPage, error) {
	page := control.RunPage{Runs: []api.Run{}, Next: q.Cursor}
	for len(page.Runs) < q.Limit {
		query := choiceQuery(q.Choice)
		query.Set("limit", strconv.Itoa(min(q.Limit-len(page.Runs), MaxPage)))
		if page.Next != "" {
			query.Set("cursor", page.Next)
		}
		if q.Summary {
			query.Set("summary", "true")
		}
		some, next, unreadable, err := d.listPage(ctx, query)
		if err != nil {
			return page, err
		}
		page.Unreadable += unreadable
		page.Runs, page.Next = append(page.Runs, some...), next
		if next == "" {
			break
		}
	}
	return page, nil
}

// listPage requests one page of a list of runs.
func (d *Deployment) listPage(ctx context.Context, query url.Values) (runs []api.Run, next string, unreadable int, err error) {
	got, err := d.send(ctx, request{method: http.MethodGet, path: "/v1/runs", query: query})
	if err != nil {
		return nil, "", 0, err
	}
	if err := read(got.Body(), &runs); err != nil {
		return nil, "", 0, &AnswerError{d.called, err.Error()}
	}
	unreadable, _ = strconv.Atoi(got.Header().Get("Unreadable-Runs")) // absent is 0
	next, err = d.next(got)
	return runs, next, unreadable, err
}

// Count counts runs: all together, or by the value of a field.
func (d *Deployment) Count(ctx context.Context, chosen control.Choice, by string) (api.Count, error) {
	query := choiceQuery(chosen)
	if by != "" {
		query.Set("by", by)
	}
	return ask[api.Count](ctx, d, request{method: http.MethodGet, path: "/v1/runs/count", query: query})
}

// Select returns the runs of a choice, at most limit of them.
func (d *Deployment) Select(ctx context.Context, chosen control.Choice, limit int) (s control.Selection, err error) {
	page, err := d.List(ctx, control.RunQuery{Choice: chosen, Limit: limit})
	for _, r := range page.Runs {
		s.Runs = append(s.Runs, r.Instance())
	}
	s.More, s.Unreadable = page.Next != "", page.Unreadable
	return s, err
}

// Find returns the runs of some namespaces, or of all, that match a name.
func (d *Deployment) Find(ctx context.Context, name string, namespaces []string) (api.FoundRuns, error) {
	query := choiceQuery(control.Choice{Namespaces: namespaces})
	query.Set("name", name)
	return ask[api.FoundRuns](ctx, d, request{method: http.MethodGet, path: "/v1/runs/find", query: query})
}

// Describe returns a run with everything that is known about it.
func (d *Deployment) Describe(ctx context.Context, i store.Instance) (api.Description, error) {
	return ask[api.Description](ctx, d, request{method: http.MethodGet, path: runPath(i)})
}

// DescribeRun describes one run of an execution; 0 means the latest.
func (d *Deployment) DescribeRun(ctx context.Context, execution store.Instance, number int) (api.Description, error) {
	return ask[api.Description](ctx, d, request{method: http.MethodGet, path: runPath(execution), query: runQuery(number)})
}

// runQuery names one run of an execution.
func runQuery(number int) url.Values {
	if number == 0 {
		return url.Values{}
	}
	return queryOf("run", strconv.Itoa(number))
}

// choiceQuery returns the parameters that select runs. A server takes at most one namespace, and a command has no more.
func choiceQuery(chosen control.Choice) url.Values {
	query := queryOf("where", chosen.Where)
	if len(chosen.Namespaces) > 0 {
		query.Set("namespace", chosen.Namespaces[0])
	}
	return query
}

// askPage is ask for a part of a list: next is the cursor of the next part, and empty at the end.
func askPage[T any](ctx context.Context, d *Deployment, r request) (answer T, next string, err error) {
	got, err := d.send(ctx, r)
	if err != nil {
		return answer, "", err
	}
	if err := read(got.Body(), &answer); err != nil {
		return answer, "", &AnswerError{d.called, err.Error()}
	}
	next, err = d.next(got)
	return answer, next, err
}

// next returns the cursor in the Link of a page.
func (d *Deployment) next(got *resty.Response) (string, error) {
	link := got.Header().Get("Link")
	if link == "" {
		return "", nil
	}
	target, relation, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	u, err := url.Parse(target)
	if err != nil || !strings.Contains(relation, `rel="next"`) || u.Query().Get("cursor") == "" {
		return "", &AnswerError{d.called, "its Link has no cursor"}
	}
	return u.Query().Get("cursor"), nil
}

// maxWait is the maximum wait of one request.
const maxWait = time.Minute

// Outcome returns the outcome of a run that ends within a time, or that it is still in progress; 0 does not wait.
func (d *Deployment) Outcome(ctx context.Context, i store.Instance, within time.Duration) (api.RunOutcome, error) {
	return d.OutcomeOf(ctx, control.RunOf{Execution: i}, within)
}

// OutcomeOf is Outcome for one run of an execution.
func (d *Deployment) OutcomeOf(ctx context.Context, run control.RunOf, within time.Duration) (api.RunOutcome, error) {
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	end, _ := waiting.Deadline()
	for {
		left := time.Until(end)
		wait := max(0, min(left, maxWait)) // a stopping server answers sooner
		r := request{method: http.MethodGet, path: runPath(run.Execution) + "/outcome", query: waitQuery(wait), wait: wait}
		if run.Number > 0 {
			r.query.Set("run", strconv.Itoa(run.Number))
		}
		outcome, err := ask[api.RunOutcome](ctx, d, r)
		if err != nil || outcome.Ended || left <= maxWait && waiting.Err() != nil || within <= 0 || outcome.Status == store.Quarantined && outcome.EndsAt == "" {
			return outcome, err
		}
	}
}

// waitQuery returns the time for which a server is to wait.
func waitQuery(wait time.Duration) url.Values {
	if wait <= 0 {
		return url.Values{}
	}
	return queryOf("wait", strconv.FormatFloat(wait.Seconds(), 'f', -1, 64))
}

// History returns a page of a run's history.
func (d *Deployment) History(ctx context.Context, i store.Instance, q control.HistoryQuery) (page control.HistoryPage, err error) {
	wait := min(q.Wait, maxWait)
	query := waitQuery(wait)
	query.Set("limit", strconv.Itoa(min(q.Limit, MaxPage)))
	if q.Cursor != "" {
		query.Set("cursor", q.Cursor)
	}
	if q.Run != "" && q.Run != control.AllRuns {
		query.Set("run", q.Run)
	}
	page.History, page.Next, err = askPage[api.History](ctx, d, request{method: http.MethodGet, path: runPath(i) + "/history", query: query, wait: wait})
	return page, err
}

// Task returns the record of the occurrence of a task that begins with the record seq, from the history of its run.
func (d *Deployment) Task(ctx context.Context, i store.Instance, seq int) (api.TaskRecord, error) {
	return ask[api.TaskRecord](ctx, d, request{method: http.MethodGet, path: runPath(i) + "/tasks/" + strconv.Itoa(seq)})
}

// Start starts a run of a deployed workflow, and describes it; again is true if the run existed already.
func (d *Deployment) Start(ctx context.Context, r api.StartRequest) (described api.Description, again bool, err error) {
	got, err := d.send(ctx, request{method: http.MethodPost, path: "/v1/runs", body: r})
	if err != nil {
		return described, false, err
	}
	if err := read(got.Body(), &described); err != nil {
		return described, false, &AnswerError{d.called, err.Error()}
	}
	return described, got.StatusCode() == http.StatusOK, nil
}
