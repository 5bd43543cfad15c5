package tasks

import (
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
)

func callActivity() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindCallActivity, Route: interpreter.RouteActivity, Shared: true, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		return newActivity(b, t.(*dsl.CallActivity))
	}}
}

// activityBody requests work of an outside worker from its driver (semantics 11.12).
type activityBody struct {
	kind, queue, input *expr.Template // nil if they are absent
	timeouts           [4]*interpreter.Duration
	retry              *dsl.ActivityRetry
	nonRetryable       []string
	delays             []*interpreter.Duration
	initial, max       *interpreter.Duration
}

func newActivity(b *interpreter.Builder, t *dsl.CallActivity) *activityBody {
	a := &activityBody{kind: b.Value(t.Type), queue: b.Value(t.Queue), input: b.Value(t.Input), retry: t.Retry}
	for n, d := range []*dsl.Duration{t.Timeouts.ScheduleToStart, t.Timeouts.StartToClose, t.Timeouts.ScheduleToClose, t.Timeouts.Heartbeat} {
		a.timeouts[n] = b.Duration(d)
	}
	if t.Retry != nil {
		a.nonRetryable = b.ErrorTypes(t.Retry.NonRetryable)
		a.initial, a.max = b.Duration(t.Retry.Initial), b.Duration(t.Retry.Max)
		for _, d := range t.Retry.Delays {
			a.delays = append(a.delays, b.Duration(d))
		}
	}
	return a
}

// Enter implements interpreter.Body.
func (a *activityBody) Enter(s *interpreter.Scope) interpreter.Next {
	r, err := a.request(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(r).Sharing([]any{r.Type, r.Queue, r.Input.V})
}

func (a *activityBody) request(s *interpreter.Scope) (r interpreter.ActivityRequest, err *errors.Error) {
	if r.Type, err = evalChecked(s, a.kind, "`type`", dsl.CheckActivityType); err != nil {
		return r, err
	}
	if r.Queue, err = a.evalQueue(s); err != nil {
		return r, err
	}
	r.Input = interpreter.Value{V: s.Input()}
	if a.input != nil {
		if r.Input.V, err = s.Eval(a.input, s.Input()); err != nil {
			return r, err
		}
	}
	for n, to := range []*time.Duration{&r.Timeouts.ScheduleToStart, &r.Timeouts.StartToClose, &r.Timeouts.ScheduleToClose, &r.Timeouts.Heartbeat} {
		if *to, err = evalLength(s, a.timeouts[n], 0); err != nil {
			return r, err
		}
		if a.timeouts[n] != nil {
			*to = max(*to, time.Millisecond) // an expression may yield zero, which is not the same as no timeout
		}
	}
	r.Retry, err = a.evalRetry(s)
	return r, err
}

func (a *activityBody) evalQueue(s *interpreter.Scope) (string, *errors.Error) {
	if a.queue == nil {
		return s.Queue(), nil
	}
	return evalChecked(s, a.queue, "`queue`", dsl.CheckQueue)
}

// evalChecked evaluates text with its own rules.
func evalChecked(s *interpreter.Scope, t *expr.Template, what string, check func(string) error) (string, *errors.Error) {
	text, err := evalText(s, t, what)
	if err != nil {
		return "", err
	}
	if invalid := check(text); invalid != nil {
		return "", s.WithExpression(errors.Expressionf("%s: %s", what, invalid), t)
	}
	return text, nil
}

func (a *activityBody) evalRetry(s *interpreter.Scope) (r interpreter.ActivityRetry, err *errors.Error) {
	if a.retry == nil {
		return interpreter.ActivityRetry{MaxAttempts: 1}, nil
	}
	r = interpreter.ActivityRetry{MaxAttempts: a.retry.MaxAttempts, Factor: a.retry.Factor, NonRetryable: a.nonRetryable}
	for _, d := range a.delays {
		delay, err := evalLength(s, d, 0)
		if err != nil {
			return r, err
		}
		r.Delays = append(r.Delays, delay)
	}
	if r.Initial, err = evalLength(s, a.initial, dsl.DefaultInitialDelay); err != nil {
		return r, err
	}
	r.Max, err = evalLength(s, a.max, max(dsl.DefaultMaxDelay, r.Initial))
	return r, err
}

// evalLength evaluates a duration from the present; an absent duration is the default.
func evalLength(s *interpreter.Scope, d *interpreter.Duration, otherwise time.Duration) (time.Duration, *errors.Error) {
	if d == nil {
		return otherwise, nil
	}
	length, err := d.Eval(s, s.Input())
	if err != nil {
		return 0, err
	}
	return min(length.AddTo(s.Now()).Sub(s.Now()), duration.Max), nil
}

// Finish implements interpreter.Leaf.
func (a *activityBody) Finish(_ *interpreter.Scope, result any) interpreter.Next {
	return interpreter.Done(result)
}
