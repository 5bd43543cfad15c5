package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/swrun/swrun/internal/control"
)

// silence is the time after which the server of a stream without events and heartbeats counts as gone.
const silence = time.Minute

var (
	errStreamEnded = errors.New("the stream of events has ended")
	errSilent      = errors.New("it has said nothing for a minute")
)

// maxEvent is the maximum size of an event, in bytes.
const maxEvent = 64 << 20

// FollowFleet passes the lifecycle events of the selected runs to a follower, in the manner of control.Control, until it returns an error, ctx ends,
// or the server is gone (*UnreachableError). It calls Begun when the server has answered, and never calls Idle. Events have no Name. It calls
// Unreadable with each comment of the server about omitted events.
func (d *Deployment) FollowFleet(ctx context.Context, chosen control.Choice, after control.FleetPosition, to control.Follower) error {
	query := choiceQuery(chosen)
	if len(to.Types) > 0 {
		query.Set("type", to.Types.String())
	}
	following, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer silent.Stop()
	body, err := d.stream(following, request{method: http.MethodGet, path: "/v1/runs/events", query: query}, after.ID())
	if err != nil {
		return err
	}
	defer body.Close()
	if err := to.Begun(); err != nil {
		return err
	}
	comments := &commentReader{from: heard{body, func() { silent.Reset(silence) }}, tell: to.Unreadable}
	for event, err := range sse.Read(comments, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if following.Err() != nil {
			err = context.Cause(following)
		}
		if err != nil {
			return d.streamError(ctx, err)
		}
		if event.LastEventID == "" || event.Data == "" {
			continue
		}
		if err := to.Events([]control.FollowedEvent{{ID: event.LastEventID, Data: []byte(event.Data)}}); err != nil {
			return err
		}
	}
	return d.streamError(ctx, errStreamEnded)
}

func (d *Deployment) streamError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &UnreachableError{d.called, err}
}

// heard calls a function after each read.
type heard struct {
	io.Reader
	heard func()
}

func (h heard) Read(to []byte) (int, error) {
	n, err := h.Reader.Read(to)
	h.heard()
	return n, err
}

// commentReader reports the comments of a stream while it reads them. The library drops them.
type commentReader struct {
	from io.Reader
	tell func(error) error // nil for no reports
	line []byte            // the part of a line that was read, if it may be a comment
	data bool              // the line is no comment
}

// maxComment is the maximum length of a reported comment, in bytes.
const maxComment = 4096

func (c *commentReader) Read(to []byte) (int, error) {
	n, err := c.from.Read(to)
	for _, b := range to[:n] {
		switch {
		case b == '\n':
			text := strings.TrimSpace(string(c.line))
			c.line, c.data = c.line[:0], false
			if known := text == "" || text == control.IdleComment || text == control.BegunComment; known || c.tell == nil {
				continue
			}
			if wrong := c.tell(errors.New(text)); wrong != nil {
				return n, wrong
			}
		case c.data || len(c.line) == maxComment:
		case len(c.line) == 0 && b != ':':
			c.data = true
		case len(c.line) == 0:
			c.line = append(c.line, ' ') // in place of the colon
		default:
			c.line = append(c.line, b)
		}
	}
	return n, err
}

// maxProblem is the maximum size of a refusal, in bytes.
const maxProblem = 1 << 20

// stream sends a request whose answer is a stream of events, which begins after the event with an id.
func (d *Deployment) stream(ctx context.Context, r request, after string) (io.ReadCloser, error) {
	sent := d.http.R().SetContext(ctx).SetQueryParamsFromValues(r.query).SetHeader("Accept", "text/event-stream").SetDoNotParseResponse(true)
	if after != "" {
		sent.SetHeader("Last-Event-ID", after)
	}
	got, err := sent.Execute(r.method, r.path)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &UnreachableError{d.called, err}
	case got.StatusCode() >= 400:
		defer got.RawBody().Close()
		text, err := io.ReadAll(io.LimitReader(got.RawBody(), maxProblem))
		if err != nil {
			return nil, d.streamError(ctx, err)
		}
		return nil, d.versioned(got, d.problem(got.SetBody(text)))
	case !strings.HasPrefix(got.Header().Get("Content-Type"), "text/event-stream"):
		got.RawBody().Close()
		return nil, &AnswerError{d.called, "a stream of events is asked for, and it answers with " + got.Header().Get("Content-Type")}
	}
	return got.RawBody(), nil
}
