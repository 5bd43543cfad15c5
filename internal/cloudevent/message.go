package cloudevent

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"strings"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// The media types of CloudEvents in structured mode, one and a batch of them.
const (
	MediaEvent  = "application/cloudevents+json"
	MediaEvents = "application/cloudevents-batch+json"
)

// Message is what a protocol carries: events in structured mode, several of them, or the data of one whose attributes stand beside it
// (binary mode).
type Message struct {
	ContentType string         // as the protocol says it; may be empty
	Attributes  map[string]any // that stand beside the body, without what the protocol puts before their names
	Body        []byte
}

// BodyError says that the body of a message is not JSON.
type BodyError struct{ Err error }

// Error says why.
func (e *BodyError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *BodyError) Unwrap() error { return e.Err }

// Events returns the events of a message, in whatever mode they come. They have not been checked.
func (m Message) Events() ([]map[string]any, error) {
	media, _, _ := mime.ParseMediaType(m.ContentType)
	if media != MediaEvent && media != MediaEvents && len(m.Attributes) > 0 {
		return m.binary(media)
	}
	v, err := jsonvalue.DecodeStrict(m.Body)
	if err != nil {
		return nil, &BodyError{err}
	}
	switch v := v.(type) {
	case map[string]any:
		if media != MediaEvents {
			return []map[string]any{v}, contradiction(v, m.Attributes)
		}
	case []any:
		if media != MediaEvent {
			return objects(v)
		}
	}
	return nil, errors.New("the body is neither one event nor a list of events, as its Content-Type says")
}

// contradiction refuses an event whose attributes stand in headers too, and differ there: whoever only reads the headers on its way would
// take it for another one.
func contradiction(event, attributes map[string]any) error {
	for name, text := range attributes {
		if got := event[name]; fmt.Sprint(got) != text {
			return fmt.Errorf("the header ce-%s is another one than `%s` of the event", name, name)
		}
	}
	return nil
}

func objects(list []any) (all []map[string]any, _ error) {
	for _, v := range list {
		event, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("an event is an object")
		}
		all = append(all, event)
	}
	return all, nil
}

// binary returns the event whose attributes stand beside the body, which is its data.
func (m Message) binary(media string) ([]map[string]any, error) {
	event := m.Attributes
	if len(m.Body) == 0 {
		return []map[string]any{event}, nil
	}
	if m.ContentType != "" {
		event["datacontenttype"] = m.ContentType
	}
	if media != "application/json" && !strings.HasSuffix(media, "+json") {
		event["data_base64"] = base64.StdEncoding.EncodeToString(m.Body)
		return []map[string]any{event}, nil
	}
	data, err := jsonvalue.DecodeStrict(bytes.TrimSpace(m.Body))
	if err != nil {
		return nil, &BodyError{err}
	}
	event["data"] = data
	return []map[string]any{event}, nil
}
