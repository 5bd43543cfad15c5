package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/control"
)

const eventsPath = "/v1/events"

// maxEvents is how many events one request may publish. A busy server takes about 300 in a second.
const maxEvents = 5000

// publishRoutes serves the publication of events.
func (s *Server) publishRoutes() {
	text := &huma.Schema{Type: "string"}
	event := &huma.Schema{
		Type: "object", AdditionalProperties: true, Required: []string{"specversion", "id", "source", "type"},
		Properties: map[string]*huma.Schema{"specversion": {Type: "string", Enum: []any{"1.0"}}, "id": text, "source": text, "type": text},
		Examples:   []any{map[string]any{"specversion": "1.0", "id": "7", "source": "/shop", "type": "order.paid", "data": map[string]any{"order": 7}}},
	}
	events := &huma.Schema{Type: "array", Items: event}
	route(s, RoleAuthor, huma.Operation{
		OperationID: "publishEvents", Method: http.MethodPost, Path: eventsPath, Tags: []string{"events"}, DefaultStatus: http.StatusAccepted,
		Summary: "Publish CloudEvents",
		Description: "One event (" + cloudevent.MediaEvent + "), several (" + cloudevent.MediaEvents + "), or the data of one whose attributes are headers: `ce-id`, `ce-source`, `ce-type`, `ce-specversion`. " +
			"It answers when every run that listens has them, and says which these are. An event is known by its source and id: publishing it again within a day changes nothing, and another one under the same is refused. " +
			"A request has at most " + strconv.Itoa(maxEvents) + " events. If an event of a list cannot be published at all, none of them is. One whose source and id another event has is refused alone: the others are published, and `errors` of the problem names each that was refused by its index.",
		SkipValidateBody: true,
	}, s.publish)
	described := s.api.OpenAPI().Paths[eventsPath]
	if described == nil { // another operation is served alone
		return
	}
	// The library describes a body that it does not read as bytes.
	body := described.Post.RequestBody
	body.Required = false // an event whose attributes are headers may have no data
	body.Content = map[string]*huma.MediaType{
		cloudevent.MediaEvent: {Schema: event}, cloudevent.MediaEvents: {Schema: events},
		"application/json": {Schema: &huma.Schema{OneOf: []*huma.Schema{event, events}, Examples: event.Examples}},
	}
}

type publishInput struct {
	api.AudienceQuery
	ContentType string `header:"Content-Type"`
	RawBody     []byte `contentType:"application/json"`

	headers http.Header
}

// Resolve implements huma.Resolver: attributes of events may be headers.
func (in *publishInput) Resolve(ctx huma.Context) []error {
	in.headers = http.Header{}
	ctx.EachHeader(func(name, value string) { in.headers.Add(name, value) })
	return nil
}

type publishedAnswer struct{ Body api.Published }

func (s *Server) publish(ctx context.Context, in *publishInput) (*publishedAnswer, error) {
	all, problem := in.events()
	if problem != nil {
		return nil, problem
	}
	concerns(ctx, eventNames(all))
	if len(all) > maxEvents {
		return nil, tooManyEvents(len(all))
	}
	audience, err := control.Audience(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	done, err := s.control.Publish(ctx, all, audience)
	if err != nil {
		return nil, err
	}
	return &publishedAnswer{done}, nil
}

// tooManyEvents is the problem of a request with n events, which are more than one request may publish.
func tooManyEvents(n int) *api.Problem {
	p := newProblem(http.StatusRequestEntityTooLarge, "too-large", "Too large",
		fmt.Sprintf("a request may publish at most %d events, and this one has %d: nothing was published, send them in several requests", maxEvents, n))
	p.Limit = &api.LimitExceeded{Name: "events", Max: maxEvents, Value: n}
	return p
}

// eventNames returns the types and ids of events: the audit log contains no data of events.
func eventNames(all []map[string]any) string {
	var names []string
	for _, e := range all {
		names = append(names, fmt.Sprint(e["type"])+" "+fmt.Sprint(e["id"]))
	}
	return strings.Join(names, ", ")
}

// events returns the events of a request in any mode.
func (in *publishInput) events() ([]map[string]any, *api.Problem) {
	attributes, err := in.attributes()
	if err != nil {
		return nil, invalid("headers", err)
	}
	all, err := cloudevent.Message{ContentType: in.ContentType, Attributes: attributes, Body: in.RawBody}.Events()
	if errors.As(err, new(*cloudevent.BodyError)) {
		return nil, invalid("body", err)
	}
	if err != nil {
		return nil, newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", err.Error())
	}
	return all, nil
}

// attributes returns the attributes of an event that are headers.
func (in *publishInput) attributes() (map[string]any, error) {
	all := map[string]any{}
	for name, values := range in.headers {
		if attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-"); ok {
			if len(values) > 1 {
				return nil, fmt.Errorf("%s stands %d times", name, len(values))
			}
			text, err := url.PathUnescape(values[0]) // the binding defines this encoding
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all[attribute] = text
		}
	}
	return all, nil
}

// refusedEvents lists the refused events of a request, each with its index.
func refusedEvents(err error) (all []api.FieldError) {
	var batch *control.RefusedEventsError
	if errors.As(err, &batch) {
		for _, one := range batch.Refused {
			all = append(all, api.FieldError{Location: fmt.Sprintf("body[%d]", one.Number-1), Message: one.Reason()})
		}
	}
	return all
}
