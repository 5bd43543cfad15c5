package errors

import (
	"fmt"
	"net/url"
	"strings"
)

// The extension members of the error of a call that describe its target.
const (
	MemberRequest  = "request"  // {method, uri}, and of a container or a process {image} or {command}
	MemberResponse = "response" // {statusCode, contentType}
)

// Reached is the target of a call. Members that are not known are empty.
type Reached struct {
	Method string // of HTTP, or of the protocol: tools/call
	URI    string // without user, query and fragment
	Host   string // of URI with its port; of a container, the image
	Path   string // of URI
	What   string // of a container the image, of a process its command
	Status int    // the status of the answer; 0 for none
}

// Reached returns the target of the call that failed with e. It is zero for other errors.
func (e *Error) Reached() (r Reached) {
	if e == nil {
		return r
	}
	request, _ := e.Extensions[MemberRequest].(map[string]any)
	text := func(name string) string { s, _ := request[name].(string); return s }
	r.Method, r.URI = text("method"), text("uri")
	if u, err := url.Parse(r.URI); err == nil && r.URI != "" {
		r.Host, r.Path = strings.ToLower(u.Host), u.Path
	}
	if image := text("image"); image != "" {
		r.Host, r.What = image, image
	}
	if command := text("command"); command != "" {
		r.What = command
	}
	if response, ok := e.Extensions[MemberResponse].(map[string]any); ok {
		r.Status, _ = wholeNumber(response["statusCode"])
	}
	return r
}

// String returns the target as one line: POST https://example.com/pay, or the image of a container. It is empty if nothing is known.
func (r Reached) String() string {
	text := strings.TrimSpace(r.Method + " " + r.URI)
	if r.What != "" {
		text = strings.TrimSpace(text + " " + r.What)
	}
	if r.Status > 0 && text != "" {
		text += fmt.Sprintf(" -> %d", r.Status)
	}
	return text
}
