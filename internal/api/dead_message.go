package api

import (
	"strings"

	"github.com/swrun/swrun/internal/access"
)

const deadPath = "/v1/events/dead"

// ListDeadMessages lists the messages that sources could not publish.
func ListDeadMessages() Operation[DeadMessageList, []DeadMessage] {
	return Operation[DeadMessageList, []DeadMessage]{
		ID: "listDeadMessages", Method: getMethod, Path: deadPath, Role: access.RoleViewer, Tag: "events",
		Summary: "The messages of sources that could not be published",
	}
}

// GetDeadMessage returns a message that could not be published, with its content.
func GetDeadMessage() Operation[DeadMessageName, DeadMessageContent] {
	return Operation[DeadMessageName, DeadMessageContent]{
		ID: "getDeadMessage", Method: getMethod, Path: deadPath + "/one", Role: access.RoleViewer, Tag: "events",
		Summary: "A message of a source that could not be published, with its content",
	}
}

// RetryDeadMessages publishes messages that could not be published.
func RetryDeadMessages() Operation[DeadMessageCommand, []DeadMessageResult] {
	return Operation[DeadMessageCommand, []DeadMessageResult]{
		ID: "retryDeadMessages", Method: postMethod, Path: deadPath + "/retry", Role: access.RoleOperator, Tag: "events",
		Summary: "Publish messages of sources that could not be published",
	}
}

// DropDeadMessages deletes messages that could not be published.
func DropDeadMessages() Operation[DeadMessageCommand, []DeadMessageResult] {
	return Operation[DeadMessageCommand, []DeadMessageResult]{
		ID: "dropDeadMessages", Method: postMethod, Path: deadPath + "/drop", Role: access.RoleOperator, Tag: "events",
		Summary: "Forget messages of sources that could not be published",
	}
}

// AudienceQuery limits published or visible events to a namespace.
type AudienceQuery struct {
	Namespace string `query:"namespace" doc:"The namespace of the messages. Published events reach only its runs and schedules. Without it, all namespaces of the caller." example:"demo"`
}

// DeadMessageList selects messages.
type DeadMessageList struct {
	AudienceQuery
	Source string `query:"source" doc:"The source of the messages." example:"orders"`
}

// DeadMessageName names a message.
type DeadMessageName struct {
	AudienceQuery
	ID string `query:"id" required:"true" doc:"Of the message." example:"orders/7d3f0c5a9b1e2468"`
}

// DeadMessageCommand is a command about messages.
type DeadMessageCommand struct {
	AudienceQuery
	Body DeadMessageChoice
}

// AuditSubject implements Audited.
func (in *DeadMessageCommand) AuditSubject() string {
	return strings.Join(in.Body.IDs, " ")
}

// AuditReason implements Audited.
func (in *DeadMessageCommand) AuditReason() string { return in.Body.Reason }

// DeadMessage is a message of a source of events that could not be published.
type DeadMessage struct {
	ID          string `json:"id" example:"orders/7d3f0c5a9b1e2468" doc:"The name of the source, and the key of the message."`
	Source      string `json:"source" example:"orders"`
	Kind        string `json:"kind" example:"kafka" doc:"Of the source."`
	Place       string `json:"place" example:"orders/0 offset 7" doc:"Where it stood in its broker."`
	FirstAt     string `json:"firstAt" doc:"When it came first."`
	LastAt      string `json:"lastAt" doc:"When it came last."`
	Times       int    `json:"times" doc:"The number of times that the same message arrived from the same position."`
	Error       string `json:"error" data:"hide" doc:"Why it could not be published."`
	ContentType string `json:"contentType,omitempty"`
	Bytes       int    `json:"bytes" doc:"Of its body."`
	Cut         bool   `json:"cut,omitempty" doc:"Only a part of it is kept: it cannot be published again."`
	Forgotten   int    `json:"forgotten,omitempty" doc:"How many older messages of the source have made room for newer ones since it had none: the newest 100 are kept."`
}

// DeadMessageContent is a dead message with its content.
type DeadMessageContent struct {
	DeadMessage
	Attributes map[string]string   `json:"attributes,omitempty" data:"hide" doc:"The attributes of the event outside of the body."`
	Headers    map[string][]string `json:"headers,omitempty" data:"hide" doc:"The headers of the message."`
	Body       string              `json:"body,omitempty" data:"hide" doc:"If it is UTF-8."`
	BodyBase64 string              `json:"bodyBase64,omitempty" data:"hide" doc:"Otherwise."`
}

// DeadMessageChoice selects messages.
type DeadMessageChoice struct {
	IDs    []string `json:"ids" minItems:"1" maxItems:"1000" nullable:"false" doc:"Those with these ids; the name of a source stands for all of its messages." example:"[\"orders\"]"`
	Reason string   `json:"reason,omitempty" doc:"Why; logs keep it."`
}

// DeadMessageResult is the result of a command for one message.
type DeadMessageResult struct {
	ID    string `json:"id"`
	Done  bool   `json:"done" doc:"It was published, or dropped, and is kept no longer."`
	Error string `json:"error,omitempty" data:"hide" doc:"Why it was not published: it is kept."`
}
