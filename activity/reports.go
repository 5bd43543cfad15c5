package activity

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
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
	path string          // complete or fail
	body json.RawMessage // of a request about this one alone
	done chan error      // gets the answer
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
	r := &report{path: "complete", done: make(chan error, 1)}
	if err == nil {
		r.body, err = json.Marshal(completed{token, result})
	}
	if err != nil {
		r.path = "fail"
		r.body, _ = json.Marshal(failure(token, err)) // texts and numbers
	}
	return r
}

func failure(token string, err error) failed {
	var e *Error
	if !errors.As(err, &e) || e == nil {
		return failed{Token: token, Detail: err.Error()}
	}
	return failed{Token: token, Type: e.Type, Title: e.Title, Detail: e.Detail, Status: e.Status, NonRetryable: e.NonRetryable}
}

// sendAgain is send, repeated until there is an answer that counts, it is too late, or ctx ends.
func (r *reports) sendAgain(ctx context.Context, one *report, until time.Time) error {
	for failures := 1; ; failures++ {
		err := r.send(ctx, one)
		var refused *APIError
		if err == nil || errors.As(err, &refused) && !refused.passes() || r.api.now().After(until) || ctx.Err() != nil {
			return err
		}
		pause(ctx, failures)
	}
}

// send tells the server of one end, and perhaps of others that wait.
func (r *reports) send(ctx context.Context, one *report) error {
	if len(one.body) > maxBytes {
		return r.api.post(ctx, one.path, one.body, nil)
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

// sendAll tells the server of several ends with one request.
func (r *reports) sendAll(ctx context.Context, all []*report) {
	if len(all) == 1 {
		all[0].done <- r.api.post(ctx, all[0].path, all[0].body, nil)
		return
	}
	byPath := map[string][]*report{}
	for _, one := range all {
		byPath[one.path] = append(byPath[one.path], one)
	}
	bodies := func(all []*report) (bodies []json.RawMessage) {
		for _, one := range all {
			bodies = append(bodies, one.body)
		}
		return bodies
	}
	request := struct {
		Completed []json.RawMessage `json:"completed,omitempty"`
		Failed    []json.RawMessage `json:"failed,omitempty"`
	}{bodies(byPath["complete"]), bodies(byPath["fail"])}
	var answers struct{ Completed, Failed []answer }
	err := r.api.post(ctx, "report", request, &answers)
	settle(byPath["complete"], answers.Completed, err)
	settle(byPath["fail"], answers.Failed, err)
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
