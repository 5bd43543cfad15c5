package interpreter

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
)

// ActivityRequest is the request of a call_activity task: what an outside worker is to do.
type ActivityRequest struct {
	ActivityTerms
	Input Value `json:"input"`
}

// ActivityTerms are an activity's type, queue, timeouts and retry policy, as they were when it was scheduled.
type ActivityTerms struct {
	Type     string           `json:"type"`
	Queue    string           `json:"queue"`
	Timeouts ActivityTimeouts `json:"timeouts,omitzero"`
	Retry    ActivityRetry    `json:"retry"`
}

// ActivityTimeouts are the timeouts of an activity; zero is none (promises 26 to 41).
type ActivityTimeouts struct {
	ScheduleToStart time.Duration `json:"scheduleToStart,omitempty"`
	StartToClose    time.Duration `json:"startToClose,omitempty"`
	ScheduleToClose time.Duration `json:"scheduleToClose,omitempty"`
	Heartbeat       time.Duration `json:"heartbeat,omitempty"`
}

// ActivityRetry says when an activity is attempted again. It is fixed when the activity is scheduled (promises 79).
type ActivityRetry struct {
	MaxAttempts  int             `json:"maxAttempts"`      // 0 for any number
	Delays       []time.Duration `json:"delays,omitempty"` // between the first attempts; the last one between all others
	Initial      time.Duration   `json:"initial,omitempty"`
	Factor       float64         `json:"factor,omitempty"`
	Max          time.Duration   `json:"max,omitempty"`
	NonRetryable []string        `json:"nonRetryable,omitempty"` // types of errors
}

// ReadActivityRequest decodes the body of a call_activity task's request.
func ReadActivityRequest(body json.RawMessage) (ActivityRequest, *errors.Error) {
	var r ActivityRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, errors.Runtimef("the request of an activity cannot be decoded: %s", err)
	}
	return r, nil
}

// The kinds of deadlines that an activity's driver keeps.
const (
	DeadlineScheduleToStart = "schedule_to_start"
	DeadlineStartToClose    = "start_to_close"
	DeadlineScheduleToClose = "schedule_to_close"
	DeadlineHeartbeat       = "heartbeat"
)

// DeadlineCall is the kind of a timeout that a call has of its own, beside that of its task: `with.timeout` of an MCP call.
const DeadlineCall = "call"

// TimeoutKinds returns what the deadlines are called that may end a run or a task: those of the run, those of
// activities, and that of a call.
func TimeoutKinds() []string {
	return append(DeadlineKinds(), DeadlineScheduleToStart, DeadlineStartToClose, DeadlineScheduleToClose, DeadlineHeartbeat, DeadlineCall)
}

// Attempt is how one attempt of an activity has gone.
type Attempt struct {
	Number    int       `json:"n,omitempty"` // counts from 1
	Worker    string    `json:"w,omitempty"` // that took it; empty if none did
	StartedAt time.Time `json:"t,omitzero"`  // when it took it
	Timeout   string    `json:"k,omitempty"` // the kind of the deadline that ended it; empty if none did
}

// AttemptFailed says that an attempt of an activity has ended with an error, and when the next one may begin.
type AttemptFailed struct {
	Effect  EffectID
	Attempt Attempt
	Pointer string // of the task, which may have ended
	Error   *errors.Error
	Delay   time.Duration // between the end of this attempt and Until
	Until   time.Time
}

// ReportedLate says that a worker has reported the end of an attempt of an activity that had been replaced or given up.
type ReportedLate struct {
	Effect  EffectID
	Attempt Attempt
	Pointer string // of the task, if the worker knows it: the task may have ended
	Report  string // ReportCompleted or ReportFailed
}

// MemberNonRetryable is the member of an error that is not retried (promises 215).
const MemberNonRetryable = errors.NonRetryable

// The reports of outside workers about the end of an attempt.
const (
	ReportCompleted = "completed"
	ReportFailed    = "failed"
)

func (AttemptFailed) event() {}
func (ReportedLate) event()  {}

func (m *machine) attemptFailed(ev AttemptFailed) {
	f := m.s.taskAwaiting(ev.Effect)
	if f == nil {
		m.overtaken(ev)
		return
	}
	m.record(f.event(HistoryEvent{
		Type: EffectRetried, Effect: ev.Effect, Attempt: ev.Attempt.Number, Worker: ev.Attempt.Worker, StartedAt: ev.Attempt.StartedAt,
		Timeout: ev.Attempt.Timeout, Error: ev.Error, Delay: ev.Delay, Until: ev.Until,
	}))
	f.Effect.Attempt = ev.Attempt.Number + 1
	f.changed()
}

// overtaken notes an attempt whose task has ended before the run heard of the attempt's failure: who had taken it, and when. Nothing is to be told of an
// attempt that nobody has taken.
func (m *machine) overtaken(ev AttemptFailed) {
	if ev.Attempt.StartedAt.IsZero() {
		return
	}
	late := ReportedLate{Effect: ev.Effect, Attempt: ev.Attempt, Pointer: ev.Pointer}
	if ev.Attempt.Timeout == "" {
		late.Report = ReportFailed
	}
	e := late.HistoryEvent()
	e.Timeout = ev.Attempt.Timeout
	m.record(e)
}

// cutEvent returns e with the task that it is about. If the task ends while it waits for an activity, e names the attempt: the driver adds who had taken
// it, and when (see HistoryEvent.Cut).
func (f *taskFrame) cutEvent(e HistoryEvent) HistoryEvent {
	if f.Effect != nil && f.node.kind.Route == RouteActivity {
		e.Effect, e.Attempt = f.Effect.ID, f.Effect.Attempt
	}
	return f.event(e)
}

// Cut reports whether the event ends a task that still waited for an activity, and so the attempt Attempt.
func (e HistoryEvent) Cut() bool {
	return (e.Type == TaskFaulted || e.Type == TaskCancelled) && e.Effect != 0
}

// reportedLate notes where the task stands: of one that has ended, as the report says it.
func (m *machine) reportedLate(ev ReportedLate) {
	late := ev.HistoryEvent()
	if f := m.s.taskAwaiting(ev.Effect); f != nil {
		late = f.event(late)
	}
	m.record(late)
}

// attemptOf returns the attempt that an event of history is about.
func attemptOf(e HistoryEvent) Attempt {
	return Attempt{Number: e.Attempt, Worker: e.Worker, StartedAt: e.StartedAt, Timeout: e.Timeout}
}

// eventOf returns the first event of the step that is of one of some types.
func (e HistoryStep) eventOf(types ...HistoryEventType) HistoryEvent {
	for _, r := range e.Events {
		if slices.Contains(types, r.Type) {
			return r
		}
	}
	return HistoryEvent{}
}
