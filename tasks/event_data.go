package tasks

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/content"
)

// readEvent returns the part of an event that a task reads (semantics 14.5).
func readEvent(event map[string]any, read string) any {
	switch read {
	case "envelope":
		return event
	case "raw":
		return rawData(event)
	}
	data, _ := eventData(event)
	return data
}

// rawData returns the data of an event in its written form: text, or base64 for data that is no text.
func rawData(event map[string]any) any {
	data, present := event["data"]
	if !present {
		encoded, _ := event["data_base64"].(string)
		if text, ok := textOf(encoded); ok {
			return text
		}
		return event["data_base64"]
	}
	if text, ok := data.(string); ok && !content.IsJSON(mediaOf(event)) {
		return text
	}
	text, err := expr.Encode(data)
	if err != nil {
		return data
	}
	return string(text)
}

// textOf returns the text that is encoded as base64, if the data is text.
func textOf(encoded string) (string, bool) {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return string(decoded), err == nil && utf8.Valid(decoded) && encoded != ""
}

// mediaOf returns the type of an event's data; without one, it is JSON.
func mediaOf(event map[string]any) string {
	contentType, _ := event["datacontenttype"].(string)
	if contentType == "" {
		return "application/json"
	}
	return content.Media(contentType)
}

// eventData returns the data of an event, and whether the event contains data: JSON is decoded, other text stays text, and the rest is base64.
func eventData(event map[string]any) (data any, present bool) {
	if data, present = event["data"]; present {
		return data, true
	}
	encoded, present := event["data_base64"].(string)
	if !present {
		return nil, false
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return encoded, true
	}
	contentType, _ := event["datacontenttype"].(string)
	if data, failed := decodeContent(contentType, decoded); failed == nil {
		return data, true
	}
	return encoded, true
}
