// Package attribute checks the attributes of CloudEvents 1.0.
package attribute

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// Error reports an attribute that is invalid or missing.
type Error struct {
	Attribute string
	Err       error
}

// Error returns the mistake.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e *Error) Unwrap() error { return e.Err }

func wrong(name, format string, args ...any) error {
	return &Error{name, fmt.Errorf(format, args...)}
}

// IsName reports whether a text is a valid name of an attribute (CloudEvents 1.0, "Attribute Naming Convention").
func IsName(name string) bool { return pattern().MatchString(name) }

var pattern = lazyregexp.New(`^[a-z0-9]+$`)

// Pattern returns the regular expression of a text in a filter, which has to match a whole value; nil for plain text. A text whose only special
// characters are dots is plain, because types of events contain dots. The error reports a text that was probably meant as a regular expression.
func Pattern(text string) (*regexp.Regexp, error) {
	if !strings.ContainsAny(text, `\*+?()[]{}|^$`) {
		return nil, nil
	}
	if _, err := regexp.Compile(text); err != nil { // alone, so that its parentheses match
		return nil, err
	}
	return regexp.Compile("^(?:" + text + ")$")
}

// texts are the attributes that are text, each with the check of its form.
var texts = map[string]func(string) error{
	"id": anyText, "source": reference, "type": anyText, "specversion": version, "dataschema": absolute, "time": timestamp, "datacontenttype": media, "subject": anyText,
}

// Check returns the mistake in one attribute of an event, or in its data, as an *Error; nil if it is valid.
func Check(event map[string]any, name string) error {
	value := event[name]
	check, isText := texts[name]
	switch {
	case name == "data":
		return nil
	case name == "data_base64":
		return checkBinary(event)
	case isText:
		return checkText(name, value, check)
	case !IsName(name):
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

// checkCharacters refuses characters that a header cannot contain (CloudEvents 1.0, "Type System").
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
	if kind, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(kind, "/") { // the library accepts a single word
		return fmt.Errorf("must be a media type such as application/json, got %s", shorten.Quoted(text))
	}
	return nil
}
