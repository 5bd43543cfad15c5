package cloudevent

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"unicode/utf8"

	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// The media types of CloudEvents in structured mode, one and a batch of them.
const (
	MediaEvent  = "application/cloudevents+json"
	MediaEvents = "application/cloudevents-batch+json"
)

// Message is the content of a protocol's message: events in structured mode, several of them, or the data of one event with its attributes beside it
// (binary mode).
type Message struct {
	ContentType string         // from the protocol; may be empty
	Attributes  map[string]any // attributes beside the body, without the prefix of the protocol
	Body        []byte
}

// BodyError reports that the body of a message is not JSON.
type BodyError struct{ Err error }

// Error returns the reason.
func (e *BodyError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *BodyError) Unwrap() error { return e.Err }

// Events returns the unchecked events of a message in any mode.
func (m Message) Events() ([]map[string]any, error) {
	media := content.Media(m.ContentType)
	if media != MediaEvent && media != MediaEvents && len(m.Attributes) > 0 {
		return m.binary(media)
	}
	v, err := m.json()
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		if media != MediaEvents {
			withoutNulls(v)
			return []map[string]any{v}, contradiction(v, m.Attributes)
		}
	case []any:
		if media != MediaEvent {
			return objects(v)
		}
	}
	return nil, errors.New("the body is neither one event nor a list of events, as its Content-Type says")
}

// contradiction refuses an event whose attributes differ in the headers: a reader of the headers would treat it as another event.
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
		withoutNulls(event)
		all = append(all, event)
	}
	return all, nil
}

// binary returns the event with its attributes beside the body, which is its data.
func (m Message) binary(media string) ([]map[string]any, error) {
	event := maps.Clone(m.Attributes)
	if m.ContentType != "" {
		event["datacontenttype"] = m.ContentType
	}
	for name, value := range event {
		if text, is := value.(string); is && !utf8.ValidString(text) {
			return nil, fmt.Errorf("`%s` is not UTF-8", name)
		}
	}
	if len(m.Body) == 0 {
		return []map[string]any{event}, nil
	}
	switch {
	case content.IsJSON(media):
		data, err := m.json()
		if err != nil {
			return nil, err
		}
		event["data"] = data
		return []map[string]any{event}, nil
	case media != "" && content.IsText(media):
		if text, err := content.Text(m.ContentType, m.Body); err == nil {
			event["data"] = string(text)
			return []map[string]any{event}, nil
		}
	}
	event["data_base64"] = base64.StdEncoding.EncodeToString(m.Body)
	return []map[string]any{event}, nil
}

// json decodes the body in its charset.
func (m Message) json() (any, error) {
	text, err := content.Text(m.ContentType, m.Body)
	if err != nil {
		return nil, &BodyError{fmt.Errorf("the body %w", err)}
	}
	v, err := jsonvalue.DecodeStrict(text)
	if err != nil {
		return nil, &BodyError{err}
	}
	return v, nil
}
