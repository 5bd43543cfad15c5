package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// api is the part of the HTTP API that workers use.
type api struct {
	client      *http.Client
	base, token string
	now         func() time.Time
}

type pollRequest struct {
	Queues    []string `json:"queues"`
	Limit     int      `json:"limit"`
	Wait      string   `json:"wait"`
	Worker    string   `json:"worker,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
}

type pollAnswer struct {
	Activities []polled `json:"activities"`
}

// polled is an activity as the server gives it.
type polled struct {
	Token          string          `json:"token"`
	Type           string          `json:"type"`
	Queue          string          `json:"queue"`
	Input          json.RawMessage `json:"input"`
	Attempt        int             `json:"attempt"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Run            Run             `json:"run"`
	Pointer        string          `json:"pointer"`
	StartedAt      time.Time       `json:"startedAt"`
	Deadlines      struct {
		StartToClose    time.Time `json:"startToClose"`
		ScheduleToClose time.Time `json:"scheduleToClose"`
		Heartbeat       time.Time `json:"heartbeat"`
	} `json:"deadlines"`
	Progress json.RawMessage `json:"progress"`
}

type returned struct {
	Token string `json:"token"`
}

type stopped struct {
	Worker string `json:"worker"`
}

type heartbeat struct {
	Token    string          `json:"token"`
	Progress json.RawMessage `json:"progress,omitempty"`
}

// APIError is a request that the server has refused (RFC 9457).
type APIError struct {
	Status int    `json:"status"`
	Type   string `json:"type"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Help   string `json:"help"`
}

func (e *APIError) Error() string {
	text := fmt.Sprintf("the server answers %d: %s", e.Status, e.Detail)
	if e.Help != "" {
		text += " (" + e.Help + ")"
	}
	return text
}

func (e *APIError) isSuperseded() bool { return strings.HasSuffix(e.Type, "/attempt-superseded") }

// passes reports whether the same request may be answered otherwise later.
func (e *APIError) passes() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// isAboutBody reports whether the server refuses what is in the request, and not that it is made.
func (e *APIError) isAboutBody() bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// poll asks for activities.
func (a *api) poll(ctx context.Context, p pollRequest) (all []*Task, err error) {
	var answer pollAnswer
	if err := a.post(ctx, "poll", p, &answer); err != nil {
		return nil, err
	}
	for _, t := range answer.Activities {
		all = append(all, t.task(a.now()))
	}
	return all, nil
}

// task returns what a worker performs. Deadlines are by the store's clock, from which this machine's may differ: what is left counts from
// when the activity has come here.
func (t *polled) task(now time.Time) *Task {
	task := &Task{
		token: t.Token, Type: t.Type, Queue: t.Queue, Input: t.Input, Attempt: t.Attempt, Key: t.IdempotencyKey, Run: t.Run, Pointer: t.Pointer,
		Progress: t.Progress,
	}
	for _, at := range []time.Time{t.Deadlines.StartToClose, t.Deadlines.ScheduleToClose} {
		if local := now.Add(at.Sub(t.StartedAt)); !at.IsZero() && (task.Deadline.IsZero() || local.Before(task.Deadline)) {
			task.Deadline = local
		}
	}
	if at := t.Deadlines.Heartbeat; !at.IsZero() {
		task.Heartbeats = at.Sub(t.StartedAt)
	}
	return task
}

// heartbeat says that an activity is being performed.
func (a *api) heartbeat(ctx context.Context, h heartbeat) (cancelRequested bool, err error) {
	var answer struct {
		CancelRequested bool `json:"cancelRequested"`
	}
	err = a.post(ctx, "heartbeat", h, &answer)
	return answer.CancelRequested, err
}

// requestWithin is how long a request may take, besides what a poll waits.
const requestWithin = 10 * time.Second

// post sends a request, and reads its answer into v unless that is nil.
func (a *api) post(ctx context.Context, path string, body, v any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write what the activity came to: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, pollWait+requestWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode >= 300:
		refused := &APIError{Detail: response.Status}
		_ = json.Unmarshal(answer, refused) // something between here and the server may answer otherwise
		refused.Status = response.StatusCode
		return refused
	case v == nil:
		return nil
	}
	return json.Unmarshal(answer, v)
}

// pause waits before something is tried again, longer after each failure.
func pause(ctx context.Context, failures int) {
	d := min(50*time.Millisecond<<min(failures, 7), 5*time.Second)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
