package api

import (
	"maps"
	"slices"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/queue"
)

// ListQueues lists the task queues.
func ListQueues() Operation[None, []Queue] {
	return Operation[None, []Queue]{
		ID: "listQueues", Method: getMethod, Path: "/v1/queues", Role: access.RoleViewer, Tag: "queues",
		Summary: "The task queues: their waiting tasks, their limits, and their workers",
	}
}

// LimitQueue changes the limits of a queue.
func LimitQueue() Operation[QueueLimit, Queue] {
	return Operation[QueueLimit, Queue]{
		ID: "limitQueue", Method: patchMethod, Path: "/v1/queues/{name}", Role: access.RoleAdmin, Tag: "queues",
		Summary: "Change the limits of a queue",
	}
}

// PauseQueue stops the start of activities and tasks of a queue.
func PauseQueue() Operation[QueueCommand, Queue] {
	return Operation[QueueCommand, Queue]{
		ID: "pauseQueue", Method: postMethod, Path: "/v1/queues/{name}/pause", Role: access.RoleAdmin, Tag: "queues",
		Summary: "Begin nothing of a queue any more",
	}
}

// ResumeQueue ends the pause of a queue.
func ResumeQueue() Operation[QueueCommand, Queue] {
	return Operation[QueueCommand, Queue]{
		ID: "resumeQueue", Method: postMethod, Path: "/v1/queues/{name}/resume", Role: access.RoleAdmin, Tag: "queues",
		Summary: "End the pause of a queue",
	}
}

// QueuePath names a queue.
type QueuePath struct {
	Name string `path:"name" maxLength:"128" example:"gpu"`
}

// QueueLimit is a change of the limits of a queue.
type QueueLimit struct {
	QueuePath
	Body QueueChange
}

// AuditSubject implements Audited.
func (in *QueueLimit) AuditSubject() string {
	subject := in.Name
	if in.Body.Concurrency != "" {
		subject += " concurrency=" + in.Body.Concurrency
	}
	if in.Body.Rate != "" {
		subject += " rate=" + in.Body.Rate
	}
	if in.Body.Replace {
		subject += " replace"
	}
	return subject
}

// AuditReason implements Audited.
func (in *QueueLimit) AuditReason() string { return in.Body.Reason }

// QueueCommand is a command to a queue.
type QueueCommand struct {
	QueuePath
	Body *CommandRequest `required:"false"`
}

// AuditSubject implements Audited.
func (in *QueueCommand) AuditSubject() string { return in.Name }

// AuditReason implements Audited.
func (in *QueueCommand) AuditReason() string { return in.Body.reason() }

// Queue is a task queue: its waiting work, its rules, and its workers.
type Queue struct {
	Name             string        `json:"name"`
	Activities       int64         `json:"activities" doc:"The number of activities that wait for outside workers, in the namespaces of the caller."`
	Runs             int64         `json:"runs" doc:"Runs that wait for a worker that takes the queue, or for their turn; at most 1000 of each partition are counted. For a caller of some namespaces, their runs."`
	OldestAgeSeconds float64       `json:"oldestAgeSeconds" doc:"How long the first of both has waited."`
	Performing       *int          `json:"performing,omitempty" doc:"The number of tasks in progress. With a limit, all tasks that count for it; otherwise the tasks, without activities, of the last announcement of each worker. Absent for a token of some namespaces."`
	Concurrency      int           `json:"concurrency,omitempty" doc:"The maximum number of tasks in progress; absent for any number."`
	Rate             string        `json:"rate,omitempty" doc:"The maximum number of tasks that begin in a time, such as 10/1m; absent for any number." example:"10/1m"`
	Paused           *QueuePause   `json:"paused,omitempty" doc:"Nothing begins; absent if it is not paused."`
	Workers          []string      `json:"workers" nullable:"false" doc:"The workers that take tasks of the queue."`
	WorkersUnknown   string        `json:"workersUnknown,omitempty" doc:"Why it is not known who takes and polls it: the store refuses writes, so that no worker can announce itself."`
	Pollers          []QueuePoller `json:"pollers" nullable:"false" doc:"The outside workers that polled the queue for a namespace of the caller, the last one first."`
	Unpolled         bool          `json:"unpolled,omitempty" doc:"Activities wait, and no worker has polled for them for half a minute."`
	StateUnknown     string        `json:"stateUnknown,omitempty" doc:"In the answer to a change: the reason why only the rules of the queue are readable. The change was applied."`
	Replaced         string        `json:"replaced,omitempty" doc:"The reason why the earlier rules are unreadable. Their other values are lost."`
}

// QueuePause is the pause of a queue, with its actor.
type QueuePause struct {
	At     string `json:"at"`
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// QueuePoller is an outside worker that has polled a queue.
type QueuePoller struct {
	Worker string `json:"worker" doc:"Its name, if it has one."`
	SeenAt string `json:"seenAt" doc:"When, to ten seconds."`
}

// QueueChange changes the limits of a queue; absent members change nothing.
type QueueChange struct {
	Concurrency string `json:"concurrency,omitempty" doc:"The maximum number of tasks in progress in all workers together; none for any number." example:"4"`
	Rate        string `json:"rate,omitempty" doc:"The maximum number of tasks that begin in any time of that length; none for any number." example:"10/1m"`
	Reason      string `json:"reason,omitempty" doc:"Why; logs and lists keep it."`
	Replace     bool   `json:"replace,omitempty" doc:"Set unreadable rules anew. Their other values are lost. Without it, the change is refused."`
}

// NewQueue returns the JSON of a queue.
func NewQueue(s *queue.State) Queue {
	q := Queue{
		Name: s.Name, Activities: s.Activities, Runs: s.Runs, OldestAgeSeconds: max(0, s.Oldest.Seconds()), Performing: &s.Performing,
		Concurrency: s.Rules.Concurrency, Rate: s.Rules.RateText(),
		Workers: append([]string{}, s.Workers...), Pollers: []QueuePoller{}, Unpolled: s.Unpolled(),
	}
	if p := s.Rules.Paused; p != nil {
		q.Paused = &QueuePause{At: Time(p.At), Actor: p.Actor, Reason: p.Reason}
	}
	names := slices.SortedFunc(maps.Keys(s.Polled), func(a, b string) int { return s.Polled[b].Compare(s.Polled[a]) })
	for _, name := range names {
		q.Pollers = append(q.Pollers, QueuePoller{name, Time(s.Polled[name].Truncate(time.Millisecond))})
	}
	return q
}
