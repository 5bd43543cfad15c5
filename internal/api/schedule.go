package api

import (
	"strings"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/schedule"
)

const schedulePath = "/v1/schedules/{namespace}/{name}"

// ListSchedules lists the schedules of the deployed workflows.
func ListSchedules() Operation[ScheduleList, []Schedule] {
	return Operation[ScheduleList, []Schedule]{
		ID: "listSchedules", Method: getMethod, Path: "/v1/schedules", Role: access.RoleViewer, Tag: "schedules",
		Summary: "The schedules of the deployed workflows",
	}
}

// GetSchedule returns the schedule of a workflow; store.NoSuch for a workflow without one.
func GetSchedule() Operation[WorkflowPath, Schedule] {
	return Operation[WorkflowPath, Schedule]{
		ID: "getSchedule", Method: getMethod, Path: schedulePath, Role: access.RoleViewer, Tag: "schedules",
		Summary: "The schedule of a workflow",
	}
}

// PauseSchedule stops the starts of a schedule.
func PauseSchedule() Operation[ScheduleCommand, Schedule] {
	return Operation[ScheduleCommand, Schedule]{
		ID: "pauseSchedule", Method: postMethod, Path: schedulePath + "/pause", Role: access.RoleOperator, Tag: "schedules",
		Summary: "Delete the schedule of a workflow",
	}
}

// ResumeSchedule ends the pause of a schedule.
func ResumeSchedule() Operation[ScheduleCommand, Schedule] {
	return Operation[ScheduleCommand, Schedule]{
		ID: "resumeSchedule", Method: postMethod, Path: schedulePath + "/resume", Role: access.RoleOperator, Tag: "schedules",
		Summary: "End the pause of a schedule",
	}
}

// TriggerSchedule starts a run in addition to the runs of a schedule.
func TriggerSchedule() Operation[ScheduleStart, Schedule] {
	return Operation[ScheduleStart, Schedule]{
		ID: "triggerSchedule", Method: postMethod, Path: schedulePath + "/trigger", Role: access.RoleAuthor, Tag: "schedules",
		Summary: "Start a run of a schedule now",
	}
}

// WorkflowPath names a workflow.
type WorkflowPath struct {
	Namespace string `path:"namespace"`
	Name      string `path:"name"`
}

// AuditSubject returns the name of the workflow.
func (in *WorkflowPath) AuditSubject() string { return in.Namespace + "/" + in.Name }

// ScheduleList is a page of schedules.
type ScheduleList struct{ Page }

// ScheduleCommand is a command to a schedule.
type ScheduleCommand struct {
	WorkflowPath
	Body *CommandRequest `required:"false"`
}

// AuditReason implements Audited.
func (in *ScheduleCommand) AuditReason() string { return in.Body.reason() }

// ScheduleStart is a start of a run by hand.
type ScheduleStart struct {
	WorkflowPath
	Body *ScheduleTrigger `required:"false"`
}

// AuditReason implements Audited.
func (*ScheduleStart) AuditReason() string { return "" }

// Schedule is the schedule of a deployed workflow.
type Schedule struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name" doc:"Of the workflow."`
	Version   string            `json:"version" doc:"The deployed version that is started: the latest."`
	Kind      string            `json:"kind" doc:"every, cron, after or on; several of them with commas." example:"cron"`
	Next      string            `json:"next,omitempty" doc:"When the next run starts; absent if that is not known: it follows an event, the end of a run, or the end of a pause."`
	Last      string            `json:"last,omitempty" doc:"The time for which the last run was started; absent if none was."`
	LastRun   *RunName          `json:"lastRun,omitempty" doc:"The last run of the schedule. If events start its runs, one run of the last second."`
	Missed    int               `json:"missed" doc:"Times that passed without a run, while no worker was there."`
	Paused    bool              `json:"paused"`
	Pause     *SchedulePause    `json:"pause,omitempty" doc:"The pause of the schedule; absent if it is not paused."`
	Timers    []ScheduleTimer   `json:"timers" nullable:"false" doc:"Of each of every, cron and after."`
	Failures  []ScheduleFailure `json:"failures" nullable:"false" doc:"The last runs that could not be started, the latest first."`
}

// Key returns the place of a schedule in lists.
func (s Schedule) Key() string { return s.Namespace + "/" + s.Name }

// SchedulePause is the pause of a schedule, with its actor.
type SchedulePause struct {
	At     string `json:"at"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// ScheduleTimer starts runs at times.
type ScheduleTimer struct {
	Kind   string `json:"kind" example:"cron"`
	When   string `json:"when" doc:"The duration or expression of the document; after a cron expression, its time zone." example:"0 9 * * MON-FRI Europe/Paris"`
	Next   string `json:"next,omitempty"`
	Awaits string `json:"awaits,omitempty" doc:"The id of the run after whose end the next one starts."`
}

// ScheduleFailure is a run that could not be started.
type ScheduleFailure struct {
	Run   RunName `json:"run"`
	For   string  `json:"for" doc:"The time for which it was to be started."`
	At    string  `json:"at" doc:"When that failed."`
	Error string  `json:"error" data:"hide" doc:"Why."`
}

// ScheduleTrigger starts a run in addition to the runs of a schedule.
type ScheduleTrigger struct {
	ID    string `json:"id,omitempty" doc:"Of the run; a new one if absent."`
	Input any    `json:"input,omitempty" doc:"{} if absent."`
}

// NewSchedule returns the JSON of a schedule.
func NewSchedule(s *schedule.Schedule) Schedule {
	var kinds []string
	for _, kind := range s.Kinds() {
		kinds = append(kinds, string(kind))
	}
	namespace := s.Workflow.Namespace
	one := Schedule{
		Namespace: namespace, Name: s.Workflow.Name, Version: s.Workflow.Version, Kind: strings.Join(kinds, ","), Next: Time(s.Next()),
		Missed: s.Missed, Paused: s.Paused != nil, Timers: []ScheduleTimer{}, Failures: []ScheduleFailure{},
	}
	if l := s.Last; l != nil {
		one.Last, one.LastRun = Time(l.For), &RunName{Namespace: namespace, ID: l.ID}
	}
	if p := s.Paused; p != nil {
		one.Pause = &SchedulePause{At: Time(p.At), Actor: p.Actor, Reason: p.Reason}
	}
	for _, t := range s.Timers {
		one.Timers = append(one.Timers, ScheduleTimer{Kind: string(t.Kind), When: t.Text, Next: Time(t.Next), Awaits: t.Awaits})
	}
	for _, f := range s.Failures {
		one.Failures = append(one.Failures, ScheduleFailure{Run: RunName{Namespace: namespace, ID: f.ID}, For: Time(f.For), At: Time(f.At), Error: f.Error})
	}
	return one
}
