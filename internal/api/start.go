package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
)

// StartRequest is the input of a start.
type StartRequest struct {
	Workflow string `json:"workflow" minLength:"3" doc:"The workflow to start: namespace/name, or namespace/name:version." example:"demo/order"`
	Version  string `json:"version,omitempty" minLength:"1" doc:"Of the workflow; the latest if it is left out."`
	// Definition is for callers that run a document that may not be deployed, and that may have run before.
	Definition *Definition `json:"definition,omitempty" doc:"The definition of the workflow, deployed or not. A repeated start returns the existing run. Without an input or timeouts of its own, it takes those of the run."`
	RunOptions
}

// NewStartRequest returns the JSON of a start.
func NewStartRequest(r definition.Reference, input any, o client.StartOptions) (StartRequest, error) {
	request := StartRequest{Workflow: r.String(), RunOptions: RunOptions{
		ID: o.ID, Labels: o.Labels, BusinessKey: o.BusinessKey, ExecutionTimeout: newSpan(o.ExecutionTimeout), RunTimeout: newSpan(o.RunTimeout),
		Deadline: Time(o.Deadline), Delay: newSpan(o.Delay), OnDuplicate: o.OnDuplicate,
	}}
	if o.TimeoutsFromAccept {
		request.TimeoutStarts = "accept"
	}
	if input == nil {
		return request, nil
	}
	var err error
	request.Input, err = expr.Encode(input)
	return request, err
}

func newSpan(d time.Duration) Span {
	switch d {
	case 0:
		return Span{}
	case client.NoTimeout:
		return Span{Given: true, None: true}
	}
	return Span{Given: true, Duration: d}
}

// RunOptions are the options of a start besides the workflow.
type RunOptions struct {
	ID               string            `json:"id,omitempty" minLength:"1" doc:"Of the run; a new one if it is left out."`
	Input            json.RawMessage   `json:"input,omitempty" doc:"Any JSON value; an empty object if it is left out."`
	Labels           map[string]string `json:"labels,omitempty" doc:"Names and values to find the run by."`
	BusinessKey      string            `json:"businessKey,omitempty" minLength:"1" doc:"A key of your own to find the run by."`
	ExecutionTimeout Span              `json:"executionTimeout,omitempty,omitzero" doc:"Of the whole execution, at least a second; it replaces the document's timeout, and null takes it away."`
	RunTimeout       Span              `json:"runTimeout,omitempty,omitzero" doc:"The timeout of one run of the execution, at least a second. It replaces the timeout of the document, and null removes it."`
	Deadline         string            `json:"deadline,omitempty" format:"date-time" doc:"When the execution ends at the latest."`
	Delay            Span              `json:"delay,omitempty,omitzero" doc:"How long to wait before it starts."`
	OnDuplicate      string            `json:"onDuplicate,omitempty" doc:"The answer if a run of that id exists: reject (default) refuses the start, return-existing answers with the run, and return-existing-active answers with the run unless it is over. ReturnExistingActive and return_existing_active mean the same." example:"return-existing-active"`
	TimeoutStarts    string            `json:"timeoutStarts,omitempty" enum:"dequeue,accept" doc:"The begin of the timeouts: dequeue (default), when a worker takes the run, or accept, the start."`

	ExecutionTimeoutSeconds Span `json:"execution_timeout_seconds,omitempty,omitzero" deprecated:"true" doc:"Another name of executionTimeout."`
	RunTimeoutSeconds       Span `json:"run_timeout_seconds,omitempty,omitzero" deprecated:"true" doc:"Another name of runTimeout."`

	Queue json.RawMessage `json:"queue,omitempty" deprecated:"true" doc:"Refused: the workflow chooses its queue."`
}

// Span is a length of time: a number of seconds, or a text such as 90s, 2h30m or PT2H30M; or none, which null means too. It may be negative, so that
// its reader can report the minimum.
type Span struct {
	time.Duration
	Given bool
	None  bool
}

// IsZero reports whether the member is left out.
func (s Span) IsZero() bool { return !s.Given }

// UnmarshalJSON reads either form.
func (s *Span) UnmarshalJSON(data []byte) error {
	s.Given = true
	var err error
	switch data = bytes.TrimSpace(data); {
	case slices.Contains([]string{"null", `"none"`}, string(data)):
		s.None = true
	case bytes.HasPrefix(data, []byte(`"`)):
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		s.Duration, err = parseSigned(text)
	default:
		var n float64
		if json.Unmarshal(data, &n) != nil {
			return fmt.Errorf("%s is not a length of time: it must be a number of seconds, or a text such as 90s or PT1M30S", data)
		}
		s.Duration, err = seconded(n)
	}
	return err
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (s Span) MarshalJSON() ([]byte, error) {
	if s.None {
		return []byte("null"), nil
	}
	return json.Marshal(duration.Format(s.Duration))
}

// ParseSpan parses a length of time in a form for people; a plain number means seconds. It is not negative.
func ParseSpan(text string) (time.Duration, error) {
	d, err := parseSigned(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%.60q is negative", text)
	}
	return d, err
}

func parseSigned(text string) (time.Duration, error) {
	var n *float64
	if json.Unmarshal([]byte(text), &n) == nil && n != nil {
		return seconded(*n)
	}
	return duration.ParseSigned(text)
}

func seconded(n float64) (time.Duration, error) {
	if math.Abs(n) > duration.Max.Seconds() || math.IsNaN(n) {
		return 0, fmt.Errorf("%v is not a number of seconds up to a hundred years", n)
	}
	return time.Duration(math.Round(n * float64(time.Second))), nil
}
