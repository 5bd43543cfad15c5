package interpreter

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/swrun/swrun/expr"
)

// EventFilter is the knowledge of an index of listeners about a filter for events. The task would not consume an event that the EventFilter does not
// let pass. The task itself tests the other conditions of the filter.
type EventFilter struct {
	Type string // that events must have; empty for any
	// From are the expressions on the event (semantics 14.7) whose values are known, as a JSON array; Key is the EventKey of these values. Both are
	// empty if no value is known.
	From, Key string
}

func (f *EventFilter) stored(o *object) {
	text(o, "t", &f.Type)
	text(o, "f", &f.From)
	text(o, "k", &f.Key)
}

// EventKey returns a short text that is the same for equal values of correlations. Different values may have the same text, too.
func EventKey(values []any) string {
	h := sha256.New()
	for _, v := range values {
		form := textForm(v)
		h.Write([]byte(strconv.Itoa(len(form)) + ":" + form))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// textForm returns a text that is the same for values that correlations treat as equal: 1, 1.0 and the text "1" have the same text, and all objects
// and arrays share one text.
func textForm(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any, map[string]any:
		return "{}"
	}
	text, err := expr.Encode(v)
	if err != nil {
		return ""
	}
	if f, err := strconv.ParseFloat(string(text), 64); err == nil {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return string(text)
}
