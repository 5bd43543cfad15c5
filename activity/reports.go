package activity

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
)

// reports tells the server how attempts have ended. What ends while requests are on their way is told with the next one, all at once.
type reports struct {
	api *api

	mu      sync.Mutex
	waiting []*report
	sending int // requests on their way
}

const (
	// maxSending is how many requests are on their way at a time. One alone would leave the server idle while its answer comes back.
	maxSending = 4
	// maxTogether is how many reports one request tells of, and maxBytes how large a report is that does not travel alone.
	maxTogether = 100
	maxBytes    = 16 << 10
)

// report is the end of an attempt.
type report struct {
	token        string
	nonRetryable bool
	path         string          // complete or fail
	body         json.RawMessage // of a request about this one alone
	done         chan error      // gets the answer
}

type (
	completed struct {
		Token  string `json:"token"`
		Result any    `json:"result"`
	}
	failed struct {
		Token        string `json:"token"`
		Type         string `json:"type,omitempty"`
		Title        string `json:"title,omitempty"`
		Detail       string `json:"detail,omitempty"`
		Status       int    `json:"status,omitempty"`
		NonRetryable bool   `json:"nonRetryable,omitempty"`
	}
)

// newReport returns the report of what a function has returned. A result that cannot be written as JSON is a failure.
func newReport(token string, result any, err error) *report {
	if err == nil {
		var body json.RawMessage
		if body, err = json.Marshal(completed{token, result}); err == nil {
			return &report{token: token, path: "complete", body: body, done: make(chan error, 1)}
		}
	}
	return newFailure(failure(token, err))
}

func newFailure(f failed) *report {
	body, _ := json.Marshal(f) // texts and numbers
	return &report{token: f.Token, nonRetryable: f.NonRetryable, path: "fail", body: body, done: make(chan error, 1)}
}

func failure(token string, err error) failed {
	var e *Error
	switch {
	case !errors.As(err, &e):
		return failed{Token: token, Detail: shorten.To(err.Error(), maxDetail)}
	case e == nil:
		return failed{Token: token, Detail: "the function has returned an error that is nil"}
	}
	return failed{Token: token, Type: e.Type, Title: shorten.To(e.Title, maxTitle), Detail: shorten.To(e.Detail, maxDetail), Status: e.Status, NonRetryable: e.NonRetryable}
}

// maxTitle and maxDetail are how many bytes of a title and a detail the server takes, with room for an ellipsis.
const (
	maxTitle  = 2047
	maxDetail = 65535
)

// refused returns what is reported instead of a report that the server refuses, so that the run gets to know that the attempt has ended.
func (r *report) refused(problem *APIError) *report {
	return newFailure(failed{
		Token: r.token, Title: "The server refuses what the activity came to", Detail: shorten.To(problem.Detail, maxTitle), NonRetryable: r.nonRetryable,
	})
}

// sendAgain is send, repeated until there is an answer that counts, it is too late, or ctx ends. What the server refuses for what is in
// it, it is told as a failure.
func (r *reports) sendAgain(ctx context.Context, one *report, until time.Time) error {
	for failures, instead := 1, false; ; failures++ {
		err := r.send(ctx, one)
		var refused *APIError
		switch known := errors.As(err, &refused); {
		case err == nil || ctx.Err() != nil:
			return err
		case known && refused.isAboutBody() && !instead:
			one, instead = one.refused(refused), true
			continue
		case known && !refused.passes() || r.api.now().After(until):
			return err
		}
		pause(ctx, failures)
	}
}

// send tells the server of one end, and perhaps of others that wait.
func (r *reports) send(ctx context.Context, one *report) error {
	if len(one.body) > maxBytes {
		return r.sendAlone(ctx, one)
	}
	r.mu.Lock()
	r.waiting = append(r.waiting, one)
	first := r.sending < maxSending
	if first {
		r.sending++
	}
	r.mu.Unlock()
	if !first {
		return <-one.done // one of those that are on their way comes back for it
	}
	for {
		some := r.next()
		if len(some) == 0 {
			return <-one.done
		}
		r.sendAll(ctx, some)
	}
}

// next returns what to tell the server now; none ends the sending.
func (r *reports) next() []*report {
	r.mu.Lock()
	defer r.mu.Unlock()
	some := r.waiting[:min(len(r.waiting), maxTogether)]
	r.waiting = r.waiting[len(some):]
	if len(some) == 0 {
		r.waiting = nil
		r.sending--
	}
	return some
}

// answer is what the server says about one of several reports.
type answer struct {
	Status  int
	Problem *APIError
}

func (a *answer) err() error {
	if a.Status < http.StatusMultipleChoices {
		return nil
	}
	if a.Problem == nil {
		a.Problem = &APIError{Detail: http.StatusText(a.Status)}
	}
	a.Problem.Status = a.Status
	return a.Problem
}

// sendAll tells the server of several ends with one request. If it refuses that for what is in one of them, it is told of each alone.
func (r *reports) sendAll(ctx context.Context, all []*report) {
	if len(all) == 1 {
		all[0].done <- r.sendAlone(ctx, all[0])
		return
	}
	byPath := map[string][]*report{}
	for _, one := range all {
		byPath[one.path] = append(byPath[one.path], one)
	}
	request := struct {
		Completed []json.RawMessage `json:"completed,omitempty"`
		Failed    []json.RawMessage `json:"failed,omitempty"`
	}{bodies(byPath["complete"]), bodies(byPath["fail"])}
	var answers struct{ Completed, Failed []answer }
	err := r.api.post(ctx, "report", request, &answers)
	var refused *APIError
	if errors.As(err, &refused) && refused.isAboutBody() {
		for _, one := range all {
			one.done <- r.sendAlone(ctx, one)
		}
		return
	}
	settle(byPath["complete"], answers.Completed, err)
	settle(byPath["fail"], answers.Failed, err)
}

func bodies(all []*report) (bodies []json.RawMessage) {
	for _, one := range all {
		bodies = append(bodies, one.body)
	}
	return bodies
}

func (r *reports) sendAlone(ctx context.Context, one *report) error {
	return r.api.post(ctx, one.path, one.body, nil)
}

// settle hands each report its answer.
func settle(all []*report, answers []answer, err error) {
	for n, one := range all {
		switch {
		case err != nil:
			one.done <- err
		case n < len(answers):
			one.done <- answers[n].err()
		default:
			one.done <- errors.New("the server has not answered all reports")
		}
	}
}
