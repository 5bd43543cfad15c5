package api

import (
	"encoding"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/swrun/swrun/internal/access"
)

// Operation is one operation of a deployment. In contains its parameters, as fields with the tag path, query or header, and its body, as the field
// Body. Out is the body of its answer, None for an answer without one. The server, the command and the description of the API read the same row.
type Operation[In, Out any] struct {
	ID           string // unique; the operationId of the description
	Method, Path string
	Role         access.Role // the lowest role that may call it
	Tag, Summary string
	Description  string
	Status       int // of an answer that is no refusal; 0 for 200, and for 204 without a body
	// ToldOnce is set if a repeated request with the same Idempotency-Key gets no copy of the answer.
	ToldOnce bool
}

// The methods and statuses of operations in HTTP. This package does not import its library.
const (
	getMethod, postMethod, patchMethod, deleteMethod = "GET", "POST", "PATCH", "DELETE"

	created, notFound, tooLarge = 201, 404, 413
)

// None is an input without parameters, and an answer without a body.
type None struct{}

// Audited is an input of a change whose subject and reason the audit log contains.
type Audited interface {
	// AuditSubject returns the changed object, with its new values.
	AuditSubject() string
	// AuditReason returns the reason of the caller; empty without a reason.
	AuditReason() string
}

// Page is the requested part of a list.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"16384" doc:"The start of the page, from the Link of the previous page."`
}

// PageOf returns the part of the list; inputs of lists embed a Page.
func (p *Page) PageOf() *Page { return p }

// Listing is the input of a list that is answered page by page.
type Listing interface{ PageOf() *Page }

// Request is an operation with its input, in the form of HTTP.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       map[string]string
	Body         any // nil for none
}

// Request returns the request for an input. Parameters with their zero value are left out.
func (o Operation[In, Out]) Request(in *In) Request {
	r := Request{Method: o.Method, Path: o.Path, Query: url.Values{}, Header: map[string]string{}}
	r.add(reflect.ValueOf(in).Elem())
	return r
}

func (r *Request) add(in reflect.Value) {
	for n := range in.NumField() {
		field, value := in.Type().Field(n), in.Field(n)
		switch path, query, header := field.Tag.Get("path"), field.Tag.Get("query"), field.Tag.Get("header"); {
		case field.Anonymous:
			r.add(value)
		case path != "":
			r.Path = strings.ReplaceAll(r.Path, "{"+path+"}", url.PathEscape(parameter(value)))
		case value.IsZero(): // it is left out
		case field.Name == "Body":
			r.Body = value.Interface()
		case query != "":
			r.Query.Set(query, parameter(value))
		case header != "":
			r.Header[header] = parameter(value)
		}
	}
}

// parameter returns the text of a parameter.
func parameter(v reflect.Value) string {
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		if data, err := text.MarshalText(); err == nil {
			return string(data)
		}
	}
	return fmt.Sprint(v.Interface())
}
