package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// The media types of CloudEvents (CloudEvents 1.0, HTTP protocol binding).
const (
	mediaEvent  = "application/cloudevents+json"
	mediaEvents = "application/cloudevents-batch+json"
)

const eventsPath = "/v1/events"

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
		Description: "One event (" + mediaEvent + "), several (" + mediaEvents + "), or the data of one whose attributes are headers: `ce-id`, `ce-source`, `ce-type`, `ce-specversion`. " +
			"It answers when every run that listens has them, and says which these are. An event is known by its source and id: publishing it again within a day changes nothing, and another one under the same is refused.",
		SkipValidateBody: true,
	}, s.publish)
	// The library describes a body that it does not read as bytes.
	s.api.OpenAPI().Paths[eventsPath].Post.RequestBody.Content = map[string]*huma.MediaType{
		mediaEvent: {Schema: event}, mediaEvents: {Schema: events},
		"application/json": {Schema: &huma.Schema{OneOf: []*huma.Schema{event, events}, Examples: event.Examples}},
	}
}

type publishInput struct {
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
	done, err := s.control.PublishTo(ctx, all, callerOf(ctx).Sees)
	if err != nil {
		return nil, err
	}
	return &publishedAnswer{done}, nil
}

// events returns the events of a request, in whatever mode they come.
func (in *publishInput) events() ([]map[string]any, *api.Problem) {
	media, _, _ := mime.ParseMediaType(in.ContentType)
	if in.headers.Get("Ce-Specversion") != "" || in.headers.Get("Ce-Id") != "" || in.headers.Get("Ce-Type") != "" {
		return in.binary(media)
	}
	v, err := jsonvalue.DecodeStrict(in.RawBody)
	if err != nil {
		return nil, invalid("body", err)
	}
	switch v := v.(type) {
	case map[string]any:
		if media != mediaEvents {
			return []map[string]any{v}, nil
		}
	case []any:
		if media != mediaEvent {
			return objects(v)
		}
	}
	return nil, newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", "the body is neither one event nor a list of events, as its Content-Type says")
}

func objects(list []any) (all []map[string]any, _ *api.Problem) {
	for _, v := range list {
		event, ok := v.(map[string]any)
		if !ok {
			return nil, newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", "an event is an object")
		}
		all = append(all, event)
	}
	return all, nil
}

// binary returns the event whose attributes are headers and whose data is the body.
func (in *publishInput) binary(media string) ([]map[string]any, *api.Problem) {
	event := map[string]any{}
	for name, values := range in.headers {
		if attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-"); ok {
			text, err := url.PathUnescape(values[0]) // as the binding encodes it
			if err != nil {
				return nil, invalid(name, err)
			}
			event[attribute] = text
		}
	}
	if len(in.RawBody) == 0 {
		return []map[string]any{event}, nil
	}
	if in.ContentType != "" {
		event["datacontenttype"] = in.ContentType
	}
	if media != "application/json" && !strings.HasSuffix(media, "+json") {
		event["data_base64"] = base64.StdEncoding.EncodeToString(in.RawBody)
		return []map[string]any{event}, nil
	}
	data, err := jsonvalue.DecodeStrict(bytes.TrimSpace(in.RawBody))
	if err != nil {
		return nil, invalid("body", err)
	}
	event["data"] = data
	return []map[string]any{event}, nil
}
