package tasks

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/internal/openapi"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

func callHTTP(c Config) interpreter.Kind {
	return told(interpreter.Kind{Kind: dsl.KindCallHTTP, Compile: compileCallHTTP, Perform: newHTTPPerformer(c).perform})
}

func compileCallHTTP(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallHTTP)
	return &callHTTPBody{
		method:         b.Value(call.Method),
		uri:            compileURI(b, call.Endpoint),
		headers:        b.Value(call.Headers),
		query:          b.Value(call.Query),
		body:           b.Value(call.Body),
		format:         call.Format,
		redirect:       call.Redirect,
		authentication: compileAuthentication(b, call.Endpoint.Authentication),
	}
}

// callHTTPBody prepares a request from the task's data and shapes its output (semantics 11.1 to 11.7).
type callHTTPBody struct {
	method         *expr.Template
	uri            *uri
	headers, query *expr.Template
	body           *expr.Template // nil sends no body
	format         string
	redirect       bool
	authentication *authentication // nil sends no credential
}

// httpRequest is the frozen request. It contains only the name of a secret, unless an expression read the secret.
type httpRequest struct {
	Method         string            `json:"method"`
	URI            string            `json:"uri"`
	Elsewhere      []string          `json:"elsewhere,omitempty"` // the same on other servers, if this one is unavailable
	Headers        map[string]string `json:"headers,omitempty"`
	Body           []byte            `json:"body,omitempty"`
	Format         string            `json:"format"`
	Redirect       bool              `json:"redirect,omitempty"`
	Authentication *credential       `json:"authentication,omitempty"`
}

func (c *callHTTPBody) Enter(s *interpreter.Scope) interpreter.Next {
	request, err := c.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(request)
}

func (c *callHTTPBody) prepare(s *interpreter.Scope) (*httpRequest, *errors.Error) {
	input := s.Input()
	method, err := evalText(s, c.method, "the method")
	if err != nil {
		return nil, err
	}
	r := &httpRequest{Format: c.format, Redirect: c.redirect}
	if !dsl.IsToken(method) {
		return nil, s.WithExpression(errors.Expressionf("the method must be a word such as GET, got %s", shorten.Quoted(method)), c.method)
	}
	r.Method = strings.ToUpper(method)
	if r.URI, err = c.uri.expand(s, input); err != nil {
		return nil, err
	}
	if r.Headers, err = c.prepareHeaders(s, input); err != nil {
		return nil, err
	}
	if err := c.prepareQuery(s, input, r); err != nil {
		return nil, err
	}
	if err := c.prepareBody(s, input, r); err != nil {
		return nil, err
	}
	r.Authentication, err = c.authentication.prepare(s, input)
	return r, err
}

func (c *callHTTPBody) prepareHeaders(s *interpreter.Scope, input any) (map[string]string, *errors.Error) {
	values, err := evalObject(s, c.headers, input, "the headers")
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	if len(values) == 0 {
		return headers, nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] == nil { // an absent header (semantics 11.2)
			continue
		}
		key, text := http.CanonicalHeaderKey(name), stringify(values[name])
		_, twice := headers[key]
		if err := checkHeader(key, text, twice); err != nil {
			return nil, s.WithExpression(err, c.headers, name)
		}
		headers[key] = text
	}
	return headers, nil
}

// checkHeader checks that a header can be sent as it is written.
func checkHeader(name, text string, twice bool) *errors.Error {
	switch {
	case twice:
		return errors.Expressionf("the header %q is given twice: upper and lower case make no difference", name)
	case !dsl.IsToken(name) || strings.ContainsFunc(text, dsl.IsControl):
		return errors.Expressionf("the header %q cannot be sent: its name or value holds characters that are not allowed", name)
	case name == "Host" && !isHost(text):
		return errors.Expressionf("the header %q must be a host with or without a port", name)
	}
	return nil
}

// isHost reports whether text may be the Host of a request; an empty text means the host of the endpoint.
func isHost(text string) bool {
	if text == "" {
		return true
	}
	u, err := url.Parse("http://" + text)
	return err == nil && u.Host == text && u.Hostname() != ""
}

// evalObject evaluates a template that must yield an object; an absent template yields nothing.
func evalObject(s *interpreter.Scope, t *expr.Template, input any, what string) (map[string]any, *errors.Error) {
	if t == nil {
		return nil, nil
	}
	v, err := s.Eval(t, input)
	if err != nil || v == nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, s.WithExpression(errors.Expressionf("%s must be an object, got %s", what, kindOf(v)), t)
	}
	return object, nil
}

// stringify writes a value as text: strings as they are, everything else as JSON.
func stringify(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	data, err := expr.Encode(v)
	if err != nil { // values of a workflow always encode
		return fmt.Sprint(v)
	}
	return string(data)
}

// prepareQuery appends the parameters to the URI's own.
func (c *callHTTPBody) prepareQuery(s *interpreter.Scope, input any, r *httpRequest) *errors.Error {
	values, err := evalObject(s, c.query, input, "the query")
	if err != nil || len(values) == 0 {
		return err
	}
	query := form(values)
	u, parseErr := url.Parse(r.URI)
	if parseErr != nil {
		return errors.Expressionf("the endpoint %q is not a URI", withoutQuery(r.URI))
	}
	if encoded := query.Encode(); encoded != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+encoded, "&")
	}
	r.URI = u.String()
	return nil
}

// prepareBody encodes the body by its content type (semantics 11.2).
func (c *callHTTPBody) prepareBody(s *interpreter.Scope, input any, r *httpRequest) *errors.Error {
	if c.body == nil {
		return nil
	}
	body, err := s.Eval(c.body, input)
	if err != nil || body == nil {
		return err
	}
	text, isText := body.(string)
	given, contentType := r.Headers["Content-Type"], "application/json"
	switch media := content.Media(given); {
	case isText:
		contentType = "text/plain; charset=utf-8"
	case media == "application/x-www-form-urlencoded" || media == "multipart/form-data":
		fields, ok := body.(map[string]any)
		if !ok {
			return s.WithExpression(errors.Expressionf("a form must be an object, got %s", kindOf(body)), c.body)
		}
		return r.setForm(media, fields)
	default:
		text = stringify(body)
	}
	if given == "" {
		r.Headers["Content-Type"] = contentType
	}
	data, failed := content.Encode(given, text)
	if failed != nil {
		return s.WithExpression(errors.Expressionf("the body cannot be sent as %s: %s", shorten.Quoted(given), failed), c.body)
	}
	r.Body = data
	return nil
}

// setForm sets a form as body. swrun chooses the separator of its parts, even if the content type names one.
func (request *httpRequest) setForm(media string, fields map[string]any) *errors.Error {
	if media != "multipart/form-data" {
		request.Body = []byte(form(fields).Encode())
		return nil
	}
	data, contentType, err := openapi.Parts(fields)
	if err != nil {
		return errors.Expressionf("the form cannot be sent: %s", err)
	}
	request.Body, request.Headers["Content-Type"] = data, contentType
	return nil
}

// form repeats the name for each item of an array and leaves null out.
func form(fields map[string]any) url.Values {
	values := url.Values{}
	for name, value := range fields {
		items, isArray := value.([]any)
		if !isArray {
			items = []any{value}
		}
		for _, item := range items {
			if item != nil {
				values.Add(name, stringify(item))
			}
		}
	}
	return values
}

func (c *callHTTPBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	if authorization := c.authentication.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(result)
}
