package control

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
)

// maxWait is the maximum wait of a poll.
const maxWait = 2 * time.Minute

// PollActivities returns activities of runs in some namespaces for an outside worker; nil means all namespaces. It waits for the first activity for
// the time in the poll.
func (c *Control) PollActivities(ctx context.Context, p api.ActivityPoll, namespaces []string) (api.Activities, error) {
	found := api.Activities{Activities: []api.Activity{}}
	for _, queue := range p.Queues {
		if err := dsl.CheckQueue(queue); err != nil {
			return found, &client.OptionError{Field: "queues", Detail: err.Error()}
		}
	}
	if p.Wait.Duration > maxWait || p.Wait.Duration < 0 {
		return found, &client.OptionError{Field: "wait", Detail: "must be at most two minutes"}
	}
	if p.Worker != "" && strings.TrimSpace(p.Worker) == "" || strings.ContainsFunc(p.Worker, unicode.IsControl) {
		return found, &client.OptionError{Field: "worker", Detail: "must be text without control characters, and not blank"}
	}
	waiting, cancel := context.WithTimeout(ctx, p.Wait.Duration)
	defer cancel()
	tasks, err := c.engine.Activities().Poll(ctx, matching.Poll{
		Queues: p.Queues, Namespaces: namespaces, Limit: max(p.Limit, 1), Worker: p.Worker, Until: waiting.Done(),
	})
	for _, t := range tasks {
		found.Activities = append(found.Activities, api.NewActivity(t))
	}
	return found, err
}

// HeartbeatActivity reports that the worker of an attempt is alive.
func (c *Control) HeartbeatActivity(ctx context.Context, h api.ActivityHeartbeat) (api.ActivityHeartbeatReply, error) {
	var progress *interpreter.Value
	if h.Progress != nil {
		data, err := expr.Normalize(h.Progress)
		if err != nil {
			return api.ActivityHeartbeatReply{}, &client.OptionError{Field: "progress", Detail: err.Error()}
		}
		progress = &interpreter.Value{V: data}
	}
	cancel, err := c.engine.Activities().Heartbeat(ctx, h.Token, progress)
	return api.ActivityHeartbeatReply{CancelRequested: cancel}, err
}

// CompleteActivity reports the result of an attempt.
func (c *Control) CompleteActivity(ctx context.Context, r api.ActivityResult) error {
	return c.engine.Activities().Complete(ctx, r.Token, r.Result)
}

// FailActivity reports the failure of an attempt.
func (c *Control) FailActivity(ctx context.Context, f api.ActivityFailure) error {
	if strings.ContainsFunc(f.Type, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return &client.OptionError{Field: "type", Detail: "must be a URI, which holds no white space, or the short name of a standard type, got " + shorten.Quoted(f.Type)}
	}
	e := errors.Runtimef("%s", f.Detail)
	if f.Type != "" {
		e.Type, e.Title = f.Type, ""
	}
	for _, s := range errors.Standards() {
		if f.Type == s.Name || errors.StandardName(f.Type) == s.Name {
			e.Type, e.Title, e.Status = errors.Base+s.Name, s.Title, s.Status
		}
	}
	e.Title, e.Status = cmp.Or(f.Title, e.Title), cmp.Or(f.Status, e.Status)
	return c.engine.Activities().Fail(ctx, f.Token, e, f.NonRetryable)
}

// ReturnActivity gives back an activity that the worker does not perform.
func (c *Control) ReturnActivity(ctx context.Context, r api.ActivityReturn) error {
	return c.engine.Activities().Return(ctx, r.Token)
}
