// Package cloudevent checks and reads CloudEvents 1.0 in their structured JSON form, as data of workflows.
package cloudevent

import (
	"fmt"
	"mime"
	"net/url"
	"regexp"
	"time"

	"github.com/swrun/swrun/internal/shorten"
)

// attributeName is what an attribute may be called (CloudEvents 1.0, "Attribute Naming Convention").
var attributeName = regexp.MustCompile(`^[a-z0-9]+$`)

// Check returns what is wrong with an event; nil if nothing is.
func Check(event map[string]any) error {
	for _, name := range []string{"id", "source", "type", "specversion"} {
		if err := checkText(event, name, true); err != nil {
			return err
		}
	}
	if version := event["specversion"]; version != "1.0" {
		return fmt.Errorf("`specversion` must be 1.0, got %s", shorten.Quoted(version.(string)))
	}
	for name, check := range map[string]func(string) error{"source": reference, "dataschema": absolute, "time": timestamp, "datacontenttype": media, "subject": nil} {
		if err := checkText(event, name, false); err != nil {
			return err
		}
		if text, ok := event[name].(string); ok && check != nil {
			if err := check(text); err != nil {
				return fmt.Errorf("`%s` %w", name, err)
			}
		}
	}
	return checkExtensions(event)
}

func checkText(event map[string]any, name string, required bool) error {
	value, present := event[name]
	text, ok := value.(string)
	switch {
	case !present && !required:
		return nil
	case !present:
		return fmt.Errorf("an event needs `%s`", name)
	case !ok:
		return fmt.Errorf("`%s` of an event must be text", name)
	case text == "":
		return fmt.Errorf("`%s` of an event must not be empty", name)
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
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("must be a date and time such as 2026-01-31T12:00:00Z, got %s", shorten.Quoted(text))
	}
	return nil
}

func media(text string) error {
	if _, _, err := mime.ParseMediaType(text); err != nil {
		return fmt.Errorf("must be a media type such as application/json, got %s", shorten.Quoted(text))
	}
	return nil
}

func checkExtensions(event map[string]any) error {
	_, plain := event["data"]
	if encoded, binary := event["data_base64"]; binary {
		if _, ok := encoded.(string); !ok {
			return fmt.Errorf("`data_base64` of an event must be text")
		}
		if plain {
			return fmt.Errorf("an event has either `data` or `data_base64`, not both")
		}
	}
	for name, value := range event {
		if name == "data" || name == "data_base64" {
			continue
		}
		if !attributeName.MatchString(name) {
			return fmt.Errorf("%s cannot be an attribute of an event: names are of a to z and 0 to 9", shorten.Quoted(name))
		}
		switch value.(type) {
		case map[string]any, []any, nil:
			return fmt.Errorf("the attribute `%s` of an event must be text, a number or a boolean", name)
		}
	}
	return nil
}
