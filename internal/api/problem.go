package api

import (
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// Problem is the refusal of a request (RFC 9457). Its type is a URI whose last part names the kind of problem.
type Problem struct {
	Type   string `json:"type" format:"uri" doc:"The kind of the problem. The last part of the URI is its name."`
	Title  string `json:"title" doc:"The kind of problem for people; the same for all of a type."`
	Status int    `json:"status" doc:"The status of the answer. It is about the request, and not about the workflow."`
	Detail string `json:"detail,omitempty" doc:"The fault, and the value at fault."`
	Help   string `json:"help,omitempty" doc:"What to do about it."`

	Field       string         `json:"field,omitempty" doc:"The member of the request that is wrong."`
	Errors      []FieldError   `json:"errors,omitempty" nullable:"false" doc:"All that is wrong with the request, if it does not have the form that it must have."`
	Limit       *LimitExceeded `json:"limit,omitempty" doc:"The limit that the request exceeds."`
	RetryAfter  int            `json:"retryAfterSeconds,omitempty" doc:"The time after which the request may be repeated, the same as in the header Retry-After."`
	Applied     string         `json:"applied,omitempty" enum:"no,maybe" doc:"Of a request that the store has not answered, and of a change that needs something stored that cannot be read: no if nothing was changed, maybe if it may have been carried out, wholly or in part."`
	Diagnostics []Diagnostic   `json:"diagnostics,omitempty" nullable:"false" doc:"The faults of the document."`
	// WorkflowError is the error of a faulted run, or the error with which the run would have faulted before its first task.
	WorkflowError any `json:"workflowError,omitempty" doc:"The error of the run. For a refused input, the error that the run would end with."`
}

// ActorHeader contains the giver of a command, on a socket that only the owner of the store can open.
const ActorHeader = "Swrun-Actor"

// VersionHeader contains the version of the answering swrun on such a socket: the version of the calling command may differ.
const VersionHeader = "Swrun-Version"

// ProblemBase is the prefix of the types of problems.
const ProblemBase = "https://github.com/swrun/swrun/errors/"

// ProblemInput is the name of the problem of a start whose input the workflow's input.schema refuses.
const ProblemInput = "input-refused"

// ProblemContinued is the name of the problem of a run that another run continues already.
const ProblemContinued = "already-continued"

// FieldError is one mistake in the form of a request.
type FieldError struct {
	Location string `json:"location" doc:"Where: query.limit, path.id, body.input. In an input it is a JSON Pointer behind that: body.input/items/0."`
	Message  string `json:"message"`
}

// LimitExceeded is a limit, and the value that exceeds it.
type LimitExceeded struct {
	Name  string `json:"name"`
	Max   int    `json:"max"`
	Value int    `json:"value,omitempty" doc:"The actual value, if it is known."`
}

// Name returns the last part of the type, which names the kind of problem.
func (p *Problem) Name() string { return p.Type[strings.LastIndexByte(p.Type, '/')+1:] }

func (p *Problem) Error() string { return p.Detail }

// IsNotFound reports whether an error is the refusal of a request for an object that does not exist.
func IsNotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == notFound || store.RefusedAs(err) == store.NoSuch
}

// IsTooLarge reports whether an error is the refusal of a request that exceeds a limit.
func IsTooLarge(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == tooLarge || store.RefusedAs(err) == store.Limit
}

// GetStatus returns the status of the answer; the HTTP library requires this name.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of a problem instead of the media type of other answers.
func (*Problem) ContentType(string) string { return ProblemMediaType }

// ProblemMediaType is the media type of a problem.
const ProblemMediaType = "application/problem+json"

// The values of Problem.Applied.
const (
	AppliedNo    = "no"
	AppliedMaybe = "maybe"
)
