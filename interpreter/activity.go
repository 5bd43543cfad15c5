package interpreter

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/swrun/swrun/errors"
)

// ActivityRequest is the request of a call_activity task: the work for an outside worker.
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

// ActivityTimeouts are the timeouts of an activity; zero means no timeout (promises 26 to 41).
type ActivityTimeouts struct {
	ScheduleToStart time.Duration `json:"scheduleToStart,omitempty"`
	StartToClose    time.Duration `json:"startToClose,omitempty"`
	ScheduleToClose time.Duration `json:"scheduleToClose,omitempty"`
	Heartbeat       time.Duration `json:"heartbeat,omitempty"`
}

// ActivityRetry specifies when an activity is attempted again. It is fixed when the activity is scheduled (promises 79).
type ActivityRetry struct {
	MaxAttempts  int             `json:"maxAttempts"`      // 0 for any number
	Delays       []time.Duration `json:"delays,omitempty"` // between the first attempts; the last delay is used for all further attempts
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

// DeadlineCall is the kind of a timeout that belongs to a call and not to its task, such as `with.timeout` of an MCP call.
const DeadlineCall = "call"

// TimeoutKinds returns the kinds of deadlines that may end a run or a task: the deadlines of the run, of activities, and of a call.
func TimeoutKinds() []string {
	return append(DeadlineKinds(), DeadlineScheduleToStart, DeadlineStartToClose, DeadlineScheduleToClose, DeadlineHeartbeat, DeadlineCall)
}

// Attempt describes one attempt of an activity.
type Attempt struct {
	Number    int       `json:"n,omitempty"` // counts from 1
	Worker    string    `json:"w,omitempty"` // the worker that took the attempt; empty if no worker took it
	StartedAt time.Time `json:"t,omitzero"`  // when the worker took the attempt
	Timeout   string    `json:"k,omitempty"` // the kind of the deadline that ended it; empty if no deadline ended it
}

// AttemptFailed reports that an attempt of an activity ended with an error, and when the next attempt may begin.
type AttemptFailed struct {
	Effect  EffectID
	Attempt Attempt
	Pointer string // of the task; the task may be over
	Error   *errors.Error
	Delay   time.Duration // between the end of this attempt and Until
	Until   time.Time
}

// ReportedLate reports that a worker announced the end of an attempt of an activity that was already replaced or given up.
type ReportedLate struct {
	Effect  EffectID
	Attempt Attempt
	Pointer string // of the task, if the worker knows it; the task may be over
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

// overtaken notes an attempt whose task ended before the run received the attempt's failure. The note contains the worker and the time at which the
// worker took the attempt. An attempt that no worker took is not noted.
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

// cutEvent returns e with the task that it is about. If the task ends while it waits for an activity, e names the attempt, and the driver adds the
// worker and the time at which the worker took the attempt (see HistoryEvent.Cut).
func (f *taskFrame) cutEvent(e HistoryEvent) HistoryEvent {
	if f.Effect != nil && f.node.kind.Route == RouteActivity {
		e.Effect, e.Attempt = f.Effect.ID, f.Effect.Attempt
	}
	return f.event(e)
}

// Cut reports whether the event ends a task that still waited for an activity. The event then ends the attempt Attempt too.
func (e HistoryEvent) Cut() bool {
	return (e.Type == TaskFaulted || e.Type == TaskCancelled) && e.Effect != 0
}

// reportedLate notes a late report with the place of its task. If the task is over, the report supplies the place.
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
