package api

import "github.com/swrun/swrun/runtime/events"

// Published is the result of a publication of events.
type Published struct {
	Accepted int `json:"accepted" doc:"How many events are stored, those among them that had been published before."`
	// Matched are the runs that got at least one of them. Whether their tasks consume it is decided by the runs.
	Matched []RunName `json:"matched" nullable:"false" doc:"The runs that listen for one of them."`
	Full    []RunName `json:"full,omitempty" doc:"The runs that listen for one of them and did not get it, since too much waits for them already."`
	Started []RunName `json:"started" nullable:"false" doc:"The runs that one of them has started."`
	// Refused are schedules: the reason may contain parts of the input, which is the event.
	Refused   []RefusedEvent `json:"refused,omitempty" doc:"The schedules that heard one of them and started nothing."`
	Unmatched int            `json:"unmatched" doc:"The number of events without a listener."`
	Waiting   int            `json:"waiting,omitempty" doc:"How many events wait for others, with which they start a run."`
	Repeated  int            `json:"repeated,omitempty" doc:"The number of events that were published before. They are not delivered again."`
}

// RefusedEvent is a schedule that got an event and started nothing.
type RefusedEvent struct {
	Workflow string `json:"workflow" example:"demo/order:1.0.0"`
	Reason   string `json:"reason" data:"hide" doc:"Why: the input of its run is refused, it is paused, or too many events wait for others."`
}

// NewRefusedEvents returns the JSON of schedules that started nothing.
func NewRefusedEvents(all []events.Refused) (refused []RefusedEvent) {
	for _, r := range all {
		refused = append(refused, RefusedEvent{r.Workflow, r.Reason})
	}
	return refused
}

// UntakenEvent is an event that was not taken: no run got it, and it started none.
type UntakenEvent struct {
	At        string         `json:"at" doc:"When it was published, by the store's clock."`
	Type      string         `json:"type"`
	Source    string         `json:"source,omitempty" data:"hide"`
	ID        string         `json:"id,omitempty" data:"hide"`
	Namespace string         `json:"namespace,omitempty" doc:"The namespace that it was published for; absent if it was for all."`
	Listening int            `json:"listening" doc:"The number of runs and schedules visible to the caller that listen for its type now. Each of them expects other values, or began later."`
	Refused   []RefusedEvent `json:"refused,omitempty" doc:"The schedules that heard it and started nothing."`
}

// NewUntakenEvent returns the JSON of an event that was not taken. Listening is the current number of listeners for its type.
func NewUntakenEvent(u events.Unmatched, listening int) UntakenEvent {
	return UntakenEvent{At: Time(u.At), Type: u.Type, Source: u.Source, ID: u.ID, Namespace: u.Namespace, Listening: listening, Refused: NewRefusedEvents(u.Refused)}
}

// Listener is a task of a run, or a schedule, that listens for events.
type Listener struct {
	Type     string            `json:"type,omitempty" doc:"Of the events; absent if events of any type may be meant."`
	Expected map[string]string `json:"expected,omitempty" data:"hide" doc:"The values that an event must have, by the names of correlations; long ones are shortened, and secrets are hidden."`
	Run      *RunName          `json:"run,omitempty" doc:"That listens; absent if a schedule does."`
	Schedule string            `json:"schedule,omitempty" doc:"The workflow whose schedule listens; absent if a run does." example:"demo/order"`
	Workflow string            `json:"workflow" example:"demo/order:1.0.0"`
	Filter   string            `json:"filter,omitempty" doc:"The filter in the document that must let the event pass; absent if the run cannot be described." example:"/do/0/paid/listen/to/one"`
	Paused   bool              `json:"paused,omitempty" doc:"It is a schedule that is paused, and starts nothing."`
}

// RunName names a run.
type RunName struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}
