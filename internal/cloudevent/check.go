// Package cloudevent checks and reads CloudEvents 1.0 in their structured JSON form, as data of workflows.
package cloudevent

import (
	"encoding/base64"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// attributeName is what an attribute may be called (CloudEvents 1.0, "Attribute Naming Convention").
var attributeName = lazyregexp.New(`^[a-z0-9]+$`)

// AttributeError is an attribute that an event cannot have, or lacks.
type AttributeError struct {
	Attribute string
	Err       error
}

// Error says what is wrong with it.
func (e *AttributeError) Error() string { return e.Err.Error() }

// Unwrap returns the same.
func (e *AttributeError) Unwrap() error { return e.Err }

// Check returns what is wrong with an event, the same of several mistakes each time, as an *AttributeError; nil if nothing is.
func Check(event map[string]any) error {
	for _, name := range []string{"id", "source", "type", "specversion"} {
		if _, present := event[name]; !present {
			return wrong(name, "an event needs `%s`", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(event)) {
		if err := checkAttribute(event, name); err != nil {
			return err
		}
	}
	return nil
}

// withoutNulls removes the attributes of an event that are null: that says the same as leaving them out (CloudEvents 1.0, JSON Format 2.2). Its data may be null.
func withoutNulls(event map[string]any) {
	maps.DeleteFunc(event, func(name string, value any) bool { return value == nil && name != "data" })
}

// texts are the attributes that are text, each with what the text has to be.
var texts = map[string]func(string) error{
	"id": anyText, "source": reference, "type": anyText, "specversion": version, "dataschema": absolute, "time": timestamp, "datacontenttype": media, "subject": anyText,
}

func wrong(name, format string, args ...any) error {
	return &AttributeError{name, fmt.Errorf(format, args...)}
}

func checkAttribute(event map[string]any, name string) error {
	value := event[name]
	check, isText := texts[name]
	switch {
	case name == "data":
		return nil
	case name == "data_base64":
		return checkBinary(event)
	case isText:
		return checkText(name, value, check)
	case !attributeName().MatchString(name):
		return wrong(name, "%s cannot be an attribute of an event: names are of a to z and 0 to 9", shorten.Quoted(name))
	}
	switch v := value.(type) {
	case map[string]any, []any, nil:
		return wrong(name, "the attribute `%s` of an event must be text, a number or a boolean", name)
	case string:
		return checkCharacters(name, v)
	}
	return nil
}

func checkText(name string, value any, check func(string) error) error {
	text, ok := value.(string)
	switch {
	case !ok:
		return wrong(name, "`%s` of an event must be text", name)
	case strings.TrimSpace(text) == "":
		return wrong(name, "`%s` of an event must not be empty", name)
	}
	if err := check(text); err != nil {
		return wrong(name, "`%s` %w", name, err)
	}
	return checkCharacters(name, text)
}

// checkCharacters: what cannot be part of a header is no part of an attribute (CloudEvents 1.0, "Type System").
func checkCharacters(name, text string) error {
	if at := strings.IndexFunc(text, unicode.IsControl); at >= 0 {
		return wrong(name, "`%s` of an event must not have control characters, got %s", name, shorten.Quoted(text))
	}
	return nil
}

func checkBinary(event map[string]any) error {
	encoded, ok := event["data_base64"].(string)
	if !ok {
		return wrong("data_base64", "`data_base64` of an event must be text")
	}
	if _, plain := event["data"]; plain {
		return wrong("data_base64", "an event has either `data` or `data_base64`, not both")
	}
	if _, err := base64.StdEncoding.DecodeString(encoded); err != nil {
		return wrong("data_base64", "`data_base64` of an event must be base64")
	}
	return nil
}

func anyText(string) error { return nil }

func version(text string) error {
	if text != "1.0" {
		return fmt.Errorf("must be 1.0, got %s", shorten.Quoted(text))
	}
	return nil
}

func reference(text string) error {
	if _, err := url.Parse(text); err != nil {
		return fmt.Errorf("must be a URI reference, got %s", shorten.Quoted(text))
	}
	return nil
}

func absolute(text string) error {
	if u, err := url.Parse(text); err != nil || !u.IsAbs() {
		return fmt.Errorf("must be a URI, got %s", shorten.Quoted(text))
	}
	return nil
}

func timestamp(text string) error {
	if _, err := time.Parse(time.RFC3339, strings.ToUpper(text)); err != nil { // t and z may be small (RFC 3339, section 5.6)
		return fmt.Errorf("must be a date and time such as 2026-01-31T12:00:00Z, got %s", shorten.Quoted(text))
	}
	return nil
}

func media(text string) error {
	if kind, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(kind, "/") { // the library takes a word alone
		return fmt.Errorf("must be a media type such as application/json, got %s", shorten.Quoted(text))
	}
	return nil
}
