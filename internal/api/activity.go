package api

import (
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/matching"
)

// ActivityPoll asks for activities to perform.
type ActivityPoll struct {
	Queues    []string `json:"queues" minItems:"1" maxItems:"100" nullable:"false" example:"default" doc:"The queues to take from."`
	Limit     int      `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"1" doc:"How many at most."`
	Wait      Span     `json:"wait,omitzero" doc:"The maximum time to wait for an activity if none is available, at most two minutes (default: no wait)."`
	Worker    string   `json:"worker,omitempty" maxLength:"128" doc:"The name of the worker, for people."`
	Namespace string   `json:"namespace,omitempty" minLength:"1" doc:"Only activities of runs of this namespace."`
}

// Activities are the answer to a poll.
type Activities struct {
	Activities []Activity `json:"activities" nullable:"false"`
}

// Activity is an activity in the hands of a worker.
type Activity struct {
	Token          string            `json:"token" doc:"For reports about this attempt."`
	Type           string            `json:"type" doc:"The name of the work."`
	Queue          string            `json:"queue"`
	Input          any               `json:"input"`
	Attempt        int               `json:"attempt" doc:"Counts from 1."`
	IdempotencyKey string            `json:"idempotencyKey" doc:"A key that is the same for all attempts, so that a called service recognises a repetition."`
	Run            ActivityRun       `json:"run"`
	Pointer        string            `json:"pointer" doc:"The position of the task in its document, as a JSON pointer."`
	StartedAt      string            `json:"startedAt" format:"date-time" doc:"When the worker took it, by the clock of the store, as the deadlines are."`
	Deadlines      ActivityDeadlines `json:"deadlines"`
	Progress       any               `json:"progress,omitempty" doc:"The progress of the last heartbeat with progress, also of an earlier attempt."`
}

// ActivityRun is the run that an activity belongs to.
type ActivityRun struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// ActivityDeadlines are the deadlines of an attempt that was not reported; a deadline that does not exist is absent.
type ActivityDeadlines struct {
	StartToClose    string `json:"startToClose,omitempty" format:"date-time"`
	ScheduleToClose string `json:"scheduleToClose,omitempty" format:"date-time"`
	Heartbeat       string `json:"heartbeat,omitempty" format:"date-time" doc:"Until the next heartbeat."`
}

// NewActivity returns the JSON of an activity that a worker has taken.
func NewActivity(t matching.Task) Activity {
	a := Activity{
		Token: t.Token, Type: t.Activity.Type, Queue: t.Activity.Queue, Input: t.Input.V, Attempt: t.Activity.Attempt, IdempotencyKey: t.Activity.Key,
		Run: ActivityRun{t.ID.Run.Namespace, t.ID.Run.ID}, Pointer: t.Activity.Pointer,
		StartedAt: Time(t.Activity.StartedAt), Deadlines: newActivityDeadlines(t.Activity),
	}
	if t.Activity.Progress != nil {
		a.Progress = t.Activity.Progress.V
	}
	return a
}

func newActivityDeadlines(a *activity.Activity) (all ActivityDeadlines) {
	for _, d := range a.Deadlines() {
		switch d.Kind {
		case interpreter.DeadlineStartToClose:
			all.StartToClose = millisecond(d.At)
		case interpreter.DeadlineScheduleToClose:
			all.ScheduleToClose = millisecond(d.At)
		case interpreter.DeadlineHeartbeat:
			all.Heartbeat = millisecond(d.At)
		}
	}
	return all
}

func millisecond(t time.Time) string { return Time(t.Truncate(time.Millisecond)) }

// ActivityHeartbeat reports that the worker of an attempt is alive.
type ActivityHeartbeat struct {
	Token    string `json:"token" minLength:"1" maxLength:"32768"`
	Progress any    `json:"progress,omitempty" doc:"The progress of the worker, for people and for the next attempt."`
}

// ActivityHeartbeatReply is the answer to a heartbeat.
type ActivityHeartbeatReply struct {
	CancelRequested bool `json:"cancelRequested" doc:"The run no longer waits for the activity: the worker may stop."`
}

// ActivityResult reports the success of an attempt.
type ActivityResult struct {
	Token  string `json:"token" minLength:"1" maxLength:"32768"`
	Result any    `json:"result,omitempty"`
}

// ActivityFailure reports the failure of an attempt.
type ActivityFailure struct {
	Token        string `json:"token" minLength:"1" maxLength:"32768"`
	Type         string `json:"type,omitempty" maxLength:"2048" doc:"The type of the error: a URI, or the name of a standard type; runtime unless given."`
	Title        string `json:"title,omitempty" maxLength:"2048"`
	Detail       string `json:"detail,omitempty" maxLength:"65536"`
	Status       int    `json:"status,omitempty" minimum:"100" maximum:"599"`
	NonRetryable bool   `json:"nonRetryable,omitempty" doc:"There is to be no other attempt."`
}

// ActivityReports reports the results of several attempts.
type ActivityReports struct {
	Completed []ActivityResult  `json:"completed,omitempty" maxItems:"1000"`
	Failed    []ActivityFailure `json:"failed,omitempty" maxItems:"1000"`
}

// ActivityReportsReply is the answer to reports, in the same order.
type ActivityReportsReply struct {
	Completed []ActivityReportReply `json:"completed"`
	Failed    []ActivityReportReply `json:"failed"`
}

// ActivityReportReply is the answer to one of several reports.
type ActivityReportReply struct {
	Status  int      `json:"status" doc:"The status of the answer to this report alone: 204, or the status of the problem."`
	Problem *Problem `json:"problem,omitempty"`
}

// ActivityReturn gives back an activity that the worker does not perform.
type ActivityReturn struct {
	Token string `json:"token" minLength:"1" maxLength:"32768"`
}

// ActivityStop ends the polls of a worker.
type ActivityStop struct {
	Worker string `json:"worker" minLength:"1" maxLength:"128" doc:"The name that the worker polls with."`
}

// OpenActivity is an activity that a run waits for (promises 46).
type OpenActivity struct {
	Type           string           `json:"type"`
	Queue          string           `json:"queue"`
	IdempotencyKey string           `json:"idempotencyKey"`
	Retry          ActivityRetry    `json:"retry"`
	ScheduledAt    string           `json:"scheduledAt" format:"date-time"`
	AvailableAt    string           `json:"availableAt,omitempty" format:"date-time" doc:"The time from which on a worker may take the activity, unless its run is suspended; absent while a worker performs it."`
	Worker         string           `json:"worker,omitempty" doc:"That has it, or had it last."`
	StartedAt      string           `json:"startedAt,omitempty" format:"date-time" doc:"When the worker took it."`
	HeartbeatAt    string           `json:"heartbeatAt,omitempty" format:"date-time" doc:"When its last heartbeat came."`
	Progress       any              `json:"progress,omitempty"`
	Failure        any              `json:"failure,omitempty" data:"error" doc:"Of the attempt before."`
	Timeouts       ActivityTimeouts `json:"timeouts"`
	Deadlines      []OpenDeadline   `json:"deadlines,omitempty" nullable:"false"`
}

// ActivityTimeouts are the timeouts of an activity; a timeout that is not set is absent.
type ActivityTimeouts struct {
	ScheduleToStartSeconds *float64 `json:"scheduleToStartSeconds,omitempty"`
	StartToCloseSeconds    *float64 `json:"startToCloseSeconds,omitempty"`
	ScheduleToCloseSeconds *float64 `json:"scheduleToCloseSeconds,omitempty"`
	HeartbeatSeconds       *float64 `json:"heartbeatSeconds,omitempty"`
}

// ActivityRetry is the retry policy of an activity at the time of its schedule.
type ActivityRetry struct {
	MaxAttempts   int       `json:"maxAttempts" doc:"0 for any number."`
	DelaysSeconds []float64 `json:"delaysSeconds,omitempty" nullable:"false" doc:"Between the first attempts; the last one between all others. Absent if delays grow."`
	// InitialSeconds, Factor and MaxSeconds specify growing delays.
	InitialSeconds *float64 `json:"initialSeconds,omitempty"`
	Factor         float64  `json:"factor,omitempty"`
	MaxSeconds     *float64 `json:"maxSeconds,omitempty"`
	NonRetryable   []string `json:"nonRetryable,omitempty" nullable:"false" doc:"Types of errors after which there is no other attempt."`
}

// ActivityTerms are the parameters with which an activity was scheduled.
type ActivityTerms struct {
	Type     string           `json:"type"`
	Queue    string           `json:"queue"`
	Timeouts ActivityTimeouts `json:"timeouts"`
	Retry    ActivityRetry    `json:"retry"`
}

func newActivityTerms(t *interpreter.ActivityTerms) *ActivityTerms {
	if t == nil {
		return nil
	}
	return &ActivityTerms{t.Type, t.Queue, newActivityTimeouts(t.Timeouts), newActivityRetry(t.Retry)}
}

// terms returns the source of the JSON.
func (t *ActivityTerms) terms() *interpreter.ActivityTerms {
	if t == nil {
		return nil
	}
	retry := interpreter.ActivityRetry{
		MaxAttempts: t.Retry.MaxAttempts, Initial: fromGiven(t.Retry.InitialSeconds), Factor: t.Retry.Factor, Max: fromGiven(t.Retry.MaxSeconds),
		NonRetryable: t.Retry.NonRetryable,
	}
	for _, delay := range t.Retry.DelaysSeconds {
		retry.Delays = append(retry.Delays, fromSeconds(delay))
	}
	return &interpreter.ActivityTerms{Type: t.Type, Queue: t.Queue, Retry: retry, Timeouts: interpreter.ActivityTimeouts{
		ScheduleToStart: fromGiven(t.Timeouts.ScheduleToStartSeconds), StartToClose: fromGiven(t.Timeouts.StartToCloseSeconds),
		ScheduleToClose: fromGiven(t.Timeouts.ScheduleToCloseSeconds), Heartbeat: fromGiven(t.Timeouts.HeartbeatSeconds),
	}}
}

func newActivityTimeouts(t interpreter.ActivityTimeouts) ActivityTimeouts {
	return ActivityTimeouts{given(t.ScheduleToStart), given(t.StartToClose), given(t.ScheduleToClose), given(t.Heartbeat)}
}

func newActivityRetry(r interpreter.ActivityRetry) ActivityRetry {
	retry := ActivityRetry{MaxAttempts: r.MaxAttempts, NonRetryable: r.NonRetryable}
	for _, delay := range r.Delays {
		retry.DelaysSeconds = append(retry.DelaysSeconds, delay.Seconds())
	}
	if len(r.Delays) == 0 {
		retry.InitialSeconds, retry.Factor, retry.MaxSeconds = given(r.Initial), r.Factor, given(r.Max)
	}
	return retry
}

// OpenDeadline is a deadline of an activity.
type OpenDeadline struct {
	Kind string `json:"kind" enum:"schedule_to_start,start_to_close,schedule_to_close,heartbeat"`
	At   string `json:"at" format:"date-time"`
	Ends bool   `json:"endsActivity" doc:"Whether it ends the activity; otherwise it is attempted again."`
}

func newOpenActivity(a *activity.Activity) *OpenActivity {
	open := &OpenActivity{
		Type: a.Type, Queue: a.Queue, IdempotencyKey: a.Key, Retry: newActivityRetry(a.Retry), ScheduledAt: Time(a.ScheduledAt),
		AvailableAt: Time(a.Since()), Worker: a.Worker, StartedAt: Time(a.StartedAt), HeartbeatAt: Time(a.HeartbeatAt), Failure: Error(a.Failure),
	}
	if a.Progress != nil {
		open.Progress = a.Progress.V
	}
	open.Timeouts = newActivityTimeouts(a.Timeouts)
	for _, d := range a.Deadlines() {
		open.Deadlines = append(open.Deadlines, OpenDeadline{d.Kind, Time(d.At), a.IsLast(d.Kind)})
	}
	return open
}

// fromGiven returns the duration of some seconds; 0 for nil.
func fromGiven(seconds *float64) time.Duration {
	if seconds == nil {
		return 0
	}
	return fromSeconds(*seconds)
}

// given returns the seconds of a timeout; nil for 0.
func given(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return seconds(d)
}
