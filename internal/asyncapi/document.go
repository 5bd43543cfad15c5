// Package asyncapi reads the parts of an AsyncAPI document, 2.x or 3.x, that a call of a channel needs: the addresses and protocols of its servers,
// and the addressing and correlation of its messages.
//
// A document describes an application that the call talks to. The call publishes the messages that the application receives, and subscribes to the
// messages that it sends. The package reads nothing else of a document, so that mistakes in other parts have no effect.
package asyncapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/description"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Document is an AsyncAPI document.
type Document struct {
	root map[string]any
	two  bool // it is of version 2
}

// Parse reads a document, JSON or YAML.
func Parse(data []byte) (*Document, error) {
	v, err := description.Decode(data)
	if err != nil {
		return nil, err
	}
	d := &Document{root: description.Object(v)}
	version := description.Text(d.root["asyncapi"])
	switch unquoted := d.root["asyncapi"].(type) {
	case int, float64: // 3.0 is read as 3
		version = fmt.Sprint(unquoted)
	}
	switch {
	case version == "":
		return nil, fmt.Errorf("it is no AsyncAPI document: it has no `asyncapi: 3.0.0`, nor another version")
	case strings.HasPrefix(version+".", "2."):
		d.two = true
	case !strings.HasPrefix(version+".", "3."):
		return nil, fmt.Errorf("it is of AsyncAPI %s; 2.x and 3.x can be called", shorten.Quoted(version))
	}
	return d, nil
}

// Call specifies the requested channel of a document.
type Call struct {
	Channel   string // of a document of version 2; empty if Operation is set
	Operation string // of a document of version 3
	Publishes bool   // if false, the call subscribes
	Server    string // its name; empty for any
	Protocol  string // of the server; empty for any
}

// MistakeError reports that a call does not fit the document.
type MistakeError struct {
	Property string // of the call
	Message  string
	What     string   // the name of the things in All, for people
	All      []string // the possible names
}

// Error returns the message.
func (e *MistakeError) Error() string { return e.Message }

// unknown returns the error about an unknown name.
func unknown(property, what, name string, all []string) *MistakeError {
	message := fmt.Sprintf("the AsyncAPI document has no %s %s", what, shorten.Quoted(name))
	if nearest := suggest.Nearest(name, all); nearest != "" {
		message += fmt.Sprintf("; did you mean %s?", shorten.Quoted(nearest))
	}
	return &MistakeError{property, message, "its " + what + "s", all}
}

// channel is a channel with the operation of the call.
type channel struct {
	name, address string
	holder        map[string]any // of version 3, or 2
	operation     map[string]any
	messages      []any
}

// find returns the channel of a call. An error may be a *MistakeError.
func (d *Document) find(c Call) (*channel, error) {
	switch {
	case d.two && c.Operation != "":
		return nil, d.elsewhere(c)
	case d.two:
		return d.channel(c)
	case c.Channel != "":
		return nil, &MistakeError{"channel", "the document is of AsyncAPI 3, whose calls name an `operation`", "its operations", d.names("operations")}
	}
	return d.operation(c)
}

// elsewhere returns the error about an operation in a document of version 2, which names the operation's place.
func (d *Document) elsewhere(c Call) error {
	wrong := &MistakeError{"operation", "the document is of AsyncAPI 2, whose calls name a `channel`", "its channels", d.names("channels")}
	for _, name := range wrong.All {
		item, _ := description.Resolve(d.root, description.Object(d.root["channels"])[name]) // a broken reference leads to no operation
		for _, one := range []string{"publish", "subscribe"} {
			if description.Text(description.Object(item[one])["operationId"]) == c.Operation {
				wrong.Message += fmt.Sprintf(": %s is that of %s", shorten.Quoted(name), shorten.Quoted(c.Operation))
			}
		}
	}
	return wrong
}

func (d *Document) names(property string) []string {
	return slices.Sorted(maps.Keys(description.Object(d.root[property])))
}

// channel returns the channel of a call in version 2.
func (d *Document) channel(c Call) (*channel, error) {
	raw, known := description.Object(d.root["channels"])[c.Channel]
	if !known {
		return nil, unknown("channel", "channel", c.Channel, d.names("channels"))
	}
	holder, err := description.Resolve(d.root, raw)
	if err != nil {
		return nil, fmt.Errorf("the channel %s: %w", shorten.Quoted(c.Channel), err)
	}
	does, instead := "subscribe", "published to"
	if c.Publishes {
		does, instead = "publish", "subscribed to"
	}
	operation := description.Object(holder[does])
	if holder[does] == nil {
		return nil, &MistakeError{Property: "channel", Message: fmt.Sprintf("the channel %s has no `%s` in the AsyncAPI document: it can only be %s", shorten.Quoted(c.Channel), does, instead)}
	}
	found := &channel{name: c.Channel, address: c.Channel, holder: holder, operation: operation}
	message, err := description.Resolve(d.root, operation["message"])
	if err != nil {
		return nil, fmt.Errorf("the message of the channel %s: %w", shorten.Quoted(c.Channel), err)
	}
	if found.messages = description.List(message["oneOf"]); found.messages == nil {
		found.messages = []any{message}
	}
	return found, nil
}

// operation returns the channel of an operation of version 3.
func (d *Document) operation(c Call) (*channel, error) {
	raw, known := description.Object(d.root["operations"])[c.Operation]
	if !known {
		return nil, unknown("operation", "operation", c.Operation, d.names("operations"))
	}
	failed := func(err error) error { return fmt.Errorf("the operation %s: %w", shorten.Quoted(c.Operation), err) }
	operation, err := description.Resolve(d.root, raw)
	if err != nil {
		return nil, failed(err)
	}
	wanted, instead := "send", "published to"
	if c.Publishes {
		wanted, instead = "receive", "subscribed to"
	}
	if action := description.Text(operation["action"]); action != wanted {
		return nil, &MistakeError{Property: "operation", Message: fmt.Sprintf("the operation %s has the action %s in the AsyncAPI document: it can only be %s", shorten.Quoted(c.Operation), shorten.Quoted(action), instead)}
	}
	holder, reference, err := description.Find(d.root, operation["channel"])
	if err != nil {
		return nil, failed(err)
	}
	found := &channel{name: c.Operation, address: description.Text(holder["address"]), holder: holder, operation: operation}
	if reference != "" {
		found.name = description.Tokens(reference)[len(description.Tokens(reference))-1]
	}
	if found.messages = description.List(operation["messages"]); found.messages == nil {
		messages := description.Object(holder["messages"])
		for _, name := range slices.Sorted(maps.Keys(messages)) {
			found.messages = append(found.messages, messages[name])
		}
	}
	return found, nil
}

// part returns a member of a message, from the message itself or one of its traits.
func (d *Document) part(message map[string]any, name string) any {
	if v := message[name]; v != nil {
		return v
	}
	for _, one := range description.List(message["traits"]) {
		trait, err := description.Resolve(d.root, one)
		if err == nil && trait[name] != nil { // a broken reference to a trait is ignored
			return trait[name]
		}
	}
	return nil
}

// describe fills in the properties of messages.
func (d *Document) describe(found *channel, r *Route) error {
	r.ContentType = description.Text(d.root["defaultContentType"])
	for n, raw := range found.messages {
		message, err := description.Resolve(d.root, raw)
		if err != nil {
			return fmt.Errorf("a message of the channel %s: %w", shorten.Quoted(found.name), err)
		}
		if media := description.Text(d.part(message, "contentType")); media != "" && n == 0 {
			r.ContentType = media
		}
		id, err := description.Resolve(d.root, d.part(message, "correlationId"))
		if err != nil {
			return fmt.Errorf("the correlation id of a message of the channel %s: %w", shorten.Quoted(found.name), err)
		}
		if location := description.Text(id["location"]); location != "" && !slices.Contains(r.Correlation, location) {
			r.Correlation = append(r.Correlation, location)
		}
	}
	return nil
}
