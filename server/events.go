package server

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/store"
)

// DefaultHeartbeat is how often those who follow a run hear that nothing has happened, if nothing else is said.
const DefaultHeartbeat = 15 * time.Second

// eventRoutes serves the lifecycle events of runs as server-sent events.
func (s *Server) eventRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "followRun", Method: http.MethodGet, Path: runPathPattern + "/events", Tags: []string{"runs"}, Metadata: map[string]any{waits: true},
		Summary: "The lifecycle events of a run, as they happen",
		Description: "Server-sent events: the data of each is a CloudEvent, the same that `swrun run --progress json` prints. The stream ends with the run. Last-Event-ID " +
			"goes on after an event; after the last one of a run that has ended, the answer is 204, so that a browser does not ask again.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The events", Content: map[string]*huma.MediaType{typeEvents: {Schema: &huma.Schema{Type: huma.TypeString}}}},
			"204": {Description: "The run has ended, and there are no more events"},
		},
	}, s.followRun)
}

const typeEvents = "text/event-stream"

type followInput struct {
	RunPath
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that is known."`
}

func (s *Server) followRun(ctx context.Context, in *followInput) (*huma.StreamResponse, error) {
	i, err := in.instance()
	if err != nil {
		return nil, err
	}
	after, err := control.EventAt(i, in.LastEventID)
	if err != nil {
		return nil, err
	}
	over, err := s.control.FollowedToEnd(ctx, i, after)
	if err != nil {
		return nil, err
	}
	if over {
		return &huma.StreamResponse{Body: func(answer huma.Context) { answer.SetStatus(http.StatusNoContent) }}, nil
	}
	return &huma.StreamResponse{Body: func(answer huma.Context) { s.stream(answer, i, after) }}, nil
}

// stream writes the events of a run. A caller who does not take them is cut off, and goes on later with Last-Event-ID: nothing is kept
// for them meanwhile.
func (s *Server) stream(answer huma.Context, i store.Instance, after control.EventPosition) {
	answer.SetHeader("Content-Type", typeEvents)
	answer.SetHeader("Cache-Control", "no-store")
	answer.SetStatus(http.StatusOK)
	if answer.Method() == http.MethodHead { // who asks so waits for nothing
		return
	}
	w := exchangeOf(answer.Context())
	send := func(text []byte) error {
		if err := w.stillAllowed(s.config.Now()); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		w.Flush()
		return nil
	}
	idle := func() error { return send([]byte(": nothing has happened\n\n")) }
	if send([]byte("retry: 1000\n\n")) != nil {
		return
	}
	ctx, done := untilStopped(answer.Context())
	defer done()
	err := s.control.Follow(ctx, i, after, control.Follower{Idle: idle, Every: cmp.Or(s.config.Heartbeat, DefaultHeartbeat), Events: func(events []control.FollowedEvent) error {
		var b bytes.Buffer
		for _, e := range events {
			b.WriteString("id: " + e.ID + "\ndata: ")
			b.Write(e.Data)
			b.WriteString("\n\n")
		}
		return send(b.Bytes())
	}})
	if err != nil {
		s.log.Debug("a stream has ended before its run", "run", i.String(), "error", err)
	}
}
