package api

import (
	"strings"

	"github.com/swrun/swrun/internal/access"
)

// ListSinks lists the sinks of events that the store knows.
func ListSinks() Operation[None, []Sink] {
	return Operation[None, []Sink]{
		ID: "listSinks", Method: getMethod, Path: "/v1/sinks", Role: access.RoleAdmin, Tag: "events",
		Summary: "The sinks of events, and their dead letters",
	}
}

// RetryDeadLetters orders the server that sends to a sink to send dead letters again.
func RetryDeadLetters() Operation[SinkCommand, Sink] {
	return Operation[SinkCommand, Sink]{
		ID: "retryDeadLetters", Method: postMethod, Path: "/v1/sinks/{name}/retry", Role: access.RoleAdmin, Tag: "events",
		Summary: "Send dead letters of a sink again",
	}
}

// DropDeadLetters deletes dead letters of a sink.
func DropDeadLetters() Operation[SinkCommand, Sink] {
	return Operation[SinkCommand, Sink]{
		ID: "dropDeadLetters", Method: postMethod, Path: "/v1/sinks/{name}/drop", Role: access.RoleAdmin, Tag: "events",
		Summary: "Forget dead letters of a sink",
	}
}

// SinkCommand is a command about dead letters of a sink.
type SinkCommand struct {
	Name string            `path:"name" maxLength:"63" example:"audit"`
	Body *DeadLetterChoice `required:"false"`
}

// Choice returns the chosen dead letters; all without a body.
func (in *SinkCommand) Choice() DeadLetterChoice {
	if in.Body == nil {
		return DeadLetterChoice{}
	}
	return *in.Body
}

// AuditSubject implements Audited.
func (in *SinkCommand) AuditSubject() string {
	return strings.Join(append([]string{in.Name}, in.Choice().IDs...), " ")
}

// AuditReason implements Audited.
func (in *SinkCommand) AuditReason() string { return in.Choice().Reason }

// Sink is a target of events.
type Sink struct {
	Name        string       `json:"name"`
	Kind        string       `json:"kind" example:"http"`
	Active      bool         `json:"active" doc:"A server sends to it."`
	DeadLetters []DeadLetter `json:"deadLetters" nullable:"false" doc:"The last events that it has refused, or not taken for long."`
}

// DeadLetter is an event that a sink has not accepted.
type DeadLetter struct {
	ID    string `json:"id" example:"demo/01K7ZA-12" doc:"Of the dead letter: the namespace of the run, and the id of the event in the stream of the run."`
	Run   string `json:"run" example:"demo/01K7ZA"`
	Type  string `json:"type" doc:"Of the event."`
	At    string `json:"at" doc:"When it was given up."`
	Error string `json:"error" data:"hide" doc:"Why."`
	Retry bool   `json:"retry,omitempty" doc:"It is sent again."`
}

// DeadLetterChoice selects dead letters.
type DeadLetterChoice struct {
	IDs    []string `json:"ids,omitempty" maxItems:"200" doc:"Those with these ids; all if absent."`
	Reason string   `json:"reason,omitempty" doc:"Why; logs keep it."`
}
