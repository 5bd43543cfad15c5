package api

import (
	"maps"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/queue"
)

// Queue is a task queue: what waits in it, what was decided about it, and who takes it.
type Queue struct {
	Name             string        `json:"name"`
	Activities       int64         `json:"activities" doc:"Activities that wait for outside workers; for a caller of some namespaces, those of their runs."`
	Runs             int64         `json:"runs" doc:"Runs that wait for a worker that takes the queue, or for their turn; at most 1000 of each partition are counted. For a caller of some namespaces, their runs."`
	OldestAgeSeconds float64       `json:"oldestAgeSeconds" doc:"How long the first of both has waited."`
	Performing       *int          `json:"performing,omitempty" doc:"What is performed of it: with a limit all that counts for it, otherwise what workers told of when they announced themselves last, without activities. Absent for a caller of some namespaces."`
	Concurrency      int           `json:"concurrency,omitempty" doc:"So many are performed at a time; absent for any number."`
	Rate             string        `json:"rate,omitempty" doc:"So many begin in a time, such as 10/1m; absent for any number." example:"10/1m"`
	Paused           *QueuePause   `json:"paused,omitempty" doc:"Nothing begins; absent if it is not paused."`
	Workers          []string      `json:"workers" nullable:"false" doc:"Those that take it."`
	WorkersUnknown   string        `json:"workersUnknown,omitempty" doc:"Why it is not known who takes and polls it: the store refuses writes, so that no worker can announce itself."`
	Pollers          []QueuePoller `json:"pollers" nullable:"false" doc:"Outside workers that have polled it, the last one first; for a caller of some namespaces those that have polled for one of them, or for all."`
	Unpolled         bool          `json:"unpolled,omitempty" doc:"Activities wait, and nobody has polled for them for half a minute."`
}

// QueuePause is who has paused a queue.
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

// QueueChange changes the limits of a queue; what is absent stays as it is.
type QueueChange struct {
	Concurrency string `json:"concurrency,omitempty" doc:"So many are performed at a time, in all workers together; none for any number." example:"4"`
	Rate        string `json:"rate,omitempty" doc:"So many begin in any time of that length; none for any number." example:"10/1m"`
	Reason      string `json:"reason,omitempty" doc:"Why; logs and lists keep it."`
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
