package server

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

// DefaultHeartbeat is the default interval of the heartbeats of a stream. A stream of a revoked token ends within this time.
const DefaultHeartbeat = access.KnownFor

// eventRoutes serves the lifecycle events of runs, and the events that runs emit, as server-sent events.
func (s *Server) eventRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "followRun", Method: http.MethodGet, Path: runPathPattern + "/events", Tags: []string{"runs"}, Metadata: map[string]any{holds: true},
		Summary: "The lifecycle events of a run, and those that it emits, as they happen",
		Description: "Server-sent events: the data of each is a CloudEvent, the same that `swrun run --progress json` prints. The stream ends with the run. Last-Event-ID " +
			"goes on after an event; after the last one of a run that has ended, the answer is 204, so that a browser does not ask again.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The events", Content: map[string]*huma.MediaType{typeEvents: {Schema: &huma.Schema{Type: huma.TypeString}}}},
			"204": {Description: "The run has ended, and there are no more events"},
		},
	}, s.followRun)
	route(s, RoleViewer, huma.Operation{
		OperationID: "followRuns", Method: http.MethodGet, Path: runsPath + "/events", Tags: []string{"runs"}, Metadata: map[string]any{holds: true},
		Summary: "The lifecycle events of all runs that are chosen, and those that they emit, as they happen",
		Description: "Server-sent events, as those of one run; a run is chosen by what it is when an event of it is read. From the comment \"" + control.BegunComment + "\" on no event " +
			"is missed, and those of one run come in order: within a second or two where some thousand runs are in progress, and later where there are very many. The stream does not end. " +
			"Last-Event-ID goes on after an event, at any server of the store: no event is missed, and some may come again, with the same source and id.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The events", Content: map[string]*huma.MediaType{typeEvents: {Schema: &huma.Schema{Type: huma.TypeString}}}},
		},
	}, s.followFleet)
}

const typeEvents = "text/event-stream"

type followInput struct {
	RunPath
	Followed
}

// Followed selects the events of a stream.
type Followed struct {
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that is known."`
	Type        string `query:"type" doc:"The types that are sent, with commas between them: workflow or task for all of these, task.faulted for one, emitted for the events that workflows emit, status-changed for changes of states, which are not sent otherwise." example:"workflow,task.faulted"`
}

func (in *Followed) types() (control.EventTypes, error) {
	types, err := control.ParseEventTypes(in.Type)
	if err != nil {
		return nil, invalid("type", err)
	}
	return types, nil
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
	types, err := in.types()
	if err != nil {
		return nil, err
	}
	if err := s.control.CheckFollowed(ctx, i); err != nil {
		return nil, err
	}
	return s.stream(types, func(ctx context.Context, to control.Follower) error { return s.control.Follow(ctx, i, after, to) }), nil
}

type followFleetInput struct {
	ChoiceQuery
	Followed
}

func (s *Server) followFleet(ctx context.Context, in *followFleetInput) (*huma.StreamResponse, error) {
	chosen, err := choiceOf(ctx, in.ChoiceQuery)
	if err != nil {
		return nil, err
	}
	after, err := control.FleetEventAt(in.LastEventID)
	if err != nil {
		return nil, err
	}
	if err := s.control.CheckChoice(chosen); err != nil {
		return nil, err
	}
	types, err := in.types()
	if err != nil {
		return nil, err
	}
	return s.stream(types, func(ctx context.Context, to control.Follower) error {
		return s.control.FollowFleet(ctx, chosen, after, to)
	}), nil
}

// stream answers with the events that follow yields. A caller that does not read them is cut off, and continues later with Last-Event-ID. The server
// keeps no events for it.
func (s *Server) stream(types control.EventTypes, follow func(context.Context, control.Follower) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(answer huma.Context) { s.write(answer, types, follow) }}
}

func (s *Server) write(answer huma.Context, types control.EventTypes, follow func(context.Context, control.Follower) error) {
	answer.SetHeader("Content-Type", typeEvents)
	answer.SetHeader("Cache-Control", "no-store")
	answer.SetStatus(http.StatusOK)
	if answer.Method() == http.MethodHead { // a HEAD request waits for nothing
		return
	}
	w := exchangeOf(answer.Context())
	send := func(text []byte) error {
		if err := w.stillAllowed(); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		w.Flush()
		return nil
	}
	comment := func(text string) func() error { return func() error { return send([]byte(": " + text + "\n\n")) } }
	if send([]byte("retry: 1000\n\n")) != nil {
		return
	}
	ctx, done := untilStopped(answer.Context())
	defer done()
	to := control.Follower{Types: types, Idle: comment(control.IdleComment), Begun: comment(control.BegunComment), Every: cmp.Or(s.config.Heartbeat, DefaultHeartbeat)}
	to.Events = func(events []control.FollowedEvent) error {
		text, err := sentEvents(events, callerOf(ctx).HidesData)
		if err != nil {
			return err
		}
		return send(text)
	}
	to.Unreadable = func(err error) error { return comment(s.whyUnreadable(ctx, err))() }
	if err := follow(ctx, to); err != nil {
		s.log.Debug("a stream of events has ended early", "path", answer.URL().Path, "error", err)
		if ctx.Err() == nil && s.control.IsUnreadable(err) {
			_ = to.Unreadable(err) // the stream ends in any case
		}
	}
}

// whyUnreadable returns one line about data that cannot be read, with the text of the problem that an answer would contain.
func (s *Server) whyUnreadable(ctx context.Context, err error) string {
	p := s.problem(ctx, err)
	return strings.Join(strings.Fields(p.Title+": "+p.Detail), " ")
}

// hideEventData returns an event without the data of its run.
func hideEventData(e *control.FollowedEvent) ([]byte, error) {
	if e.IsEmitted() {
		return api.HideEmittedData(e.Data)
	}
	return api.HideEventData(e.Data)
}

// sentEvents returns the text of events in a stream, without the data of runs if hides is true.
func sentEvents(events []control.FollowedEvent, hides bool) ([]byte, error) {
	var b bytes.Buffer
	for _, e := range events {
		data, err := e.Data, error(nil)
		if hides {
			if data, err = hideEventData(&e); err != nil {
				return nil, err
			}
		}
		b.WriteString("id: " + e.ID + "\ndata: ")
		b.Write(data)
		b.WriteString("\n\n")
	}
	return b.Bytes(), nil
}
