package brokers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// header is a header of a message, for protocols with a list of headers.
type header struct{ name, value string }

// The names of the parts of a message besides its own headers.
const (
	headerContentType   = "content-type"
	headerCorrelationID = "correlation-id"
	headerKey           = "idempotency-key"
)

// carried returns the headers of a message for a protocol without another place for its content type and ids. The message's own headers take
// precedence over these.
func (m Message) carried() (all []header) {
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		all = append(all, header{name, m.Headers[name]})
	}
	for _, one := range []header{{headerContentType, m.ContentType}, {headerCorrelationID, m.CorrelationID}, {headerKey, m.ID}} {
		if one.value != "" && !m.has(one.name) {
			all = append(all, one)
		}
	}
	return all
}

// has reports whether a message contains a header, in any case.
func (m Message) has(name string) bool {
	for given := range m.Headers {
		if strings.EqualFold(given, name) {
			return true
		}
	}
	return false
}

// carry takes a header that was received.
func (m *Message) carry(name, value string) {
	switch strings.ToLower(name) {
	case headerContentType:
		m.ContentType = value
	case headerCorrelationID:
		m.CorrelationID = value
	}
	if m.Headers == nil {
		m.Headers = map[string]string{}
	}
	if before, twice := m.Headers[name]; twice {
		value = before + ", " + value
	}
	m.Headers[name] = value
}

// headerText returns the value of a header of any type as text, in the form in which it would be sent.
func headerText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	if text, err := json.Marshal(value); err == nil {
		return string(text)
	}
	return fmt.Sprint(value)
}
