package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Request is a call of an operation.
type Request struct {
	Method  string
	URLs    []string // the first choice first; the others are the same request on other servers
	Headers map[string]string
	Body    []byte // nil without a body
}

// ParameterError names the wrong parameter of a call.
type ParameterError struct {
	Name    string
	Missing bool   // it is required, and missing
	Nearest string // the most similar parameter to an unknown one, or empty
	message string
}

// Error describes the mistake.
func (e *ParameterError) Error() string { return e.message }

func unfit(name, format string, args ...any) *ParameterError {
	return &ParameterError{Name: name, message: fmt.Sprintf("the parameter %s of the operation ", shorten.Quoted(name)) + fmt.Sprintf(format, args...)}
}

// Check finds parameters that the operation does not define, and required parameters that are missing, among the names with a value.
func (o *Operation) Check(names []string) (all []*ParameterError) {
	given := map[string]any{}
	for _, name := range names {
		given[name] = true
	}
	whole := ""
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case o.has(name):
		case o.isBody(name):
			whole = name
		case !o.takes(name):
			all = append(all, o.unknown(name))
		}
	}
	for _, p := range o.Parameters {
		if given[p.Name] == nil && p.needed() {
			all = append(all, o.missing(p.Name))
		}
	}
	if o.Body == nil || whole != "" {
		return all
	}
	for _, f := range o.Body.fields {
		if given[f.name] == nil && f.required && f.value == nil {
			all = append(all, o.missing(f.name))
		}
	}
	if o.Body.Required && len(o.rest(given)) == 0 {
		all = append(all, o.missing(o.wholeName()))
	}
	return all
}

// needed reports whether a call cannot be made without a value for p.
func (p *Parameter) needed() bool {
	if p.In == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)) {
		return false // OpenAPI has other means for them
	}
	return p.Required && p.Default == nil
}

func (o *Operation) missing(name string) *ParameterError {
	e := unfit(name, "%s is missing: it is required", o.ID)
	e.Missing = true
	return e
}

func (o *Operation) unknown(name string) *ParameterError {
	e := &ParameterError{Name: name, Nearest: suggest.Nearest(name, o.Names())}
	e.message = fmt.Sprintf("the operation %s has no parameter %s", o.ID, shorten.Quoted(name))
	if o.Body == nil {
		e.message += ", and takes no body"
	}
	if e.Nearest != "" {
		e.message += fmt.Sprintf("; did you mean %s?", shorten.Quoted(e.Nearest))
	}
	return e
}

// Names returns all parameters that a call may name.
func (o *Operation) Names() (all []string) {
	for _, p := range o.Parameters {
		all = append(all, p.Name)
	}
	if o.Body != nil {
		all = append(all, o.Body.names...)
		all = append(all, o.wholeName())
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

func (o *Operation) has(name string) bool {
	return slices.ContainsFunc(o.Parameters, func(p *Parameter) bool { return p.Name == name })
}

// isBody reports whether a parameter is the whole body.
func (o *Operation) isBody(name string) bool {
	if o.Body == nil || slices.Contains(o.Body.names, name) {
		return false
	}
	return name == "body" || name == o.Body.Name
}

func (o *Operation) wholeName() string {
	if o.Body.Name != "" {
		return o.Body.Name
	}
	return "body"
}

// takes reports whether a name may be a property of the body.
func (o *Operation) takes(name string) bool {
	return o.Body != nil && (o.Body.names == nil || slices.Contains(o.Body.names, name))
}

// rest returns the body: all given values that are not parameters beside it.
func (o *Operation) rest(given map[string]any) map[string]any {
	rest := map[string]any{}
	for name, v := range given {
		if v != nil && !o.has(name) {
			rest[name] = v
		}
	}
	return rest
}

// Prepare returns the request of a call with parameters. Its error is a *ParameterError.
func (o *Operation) Prepare(given map[string]any) (*Request, error) {
	var names []string
	for name, v := range given {
		if v != nil {
			names = append(names, name)
		}
	}
	if wrong := o.Check(names); len(wrong) > 0 {
		return nil, wrong[0]
	}
	r := &Request{Method: o.Method, Headers: map[string]string{}}
	w := &writer{path: o.Path, headers: r.Headers}
	for _, p := range o.Parameters {
		v := given[p.Name]
		if v == nil && p.Required {
			v = p.Default
		}
		if v == nil {
			continue
		}
		if err := w.write(p, v); err != nil {
			return nil, err
		}
	}
	if found := variable().FindString(w.path); found != "" {
		return nil, unfit(found, "%s is in its path, and is not described", o.ID)
	}
	if len(w.cookies) > 0 {
		r.Headers["Cookie"] = strings.Join(w.cookies, "; ")
	}
	for _, server := range o.Servers {
		whole := server + "/" + strings.TrimLeft(w.path, "/")
		if len(w.query) > 0 {
			whole += "?" + strings.Join(w.query, "&")
		}
		r.URLs = append(r.URLs, whole)
	}
	return r, o.prepareBody(given, r)
}

func (o *Operation) prepareBody(given map[string]any, r *Request) error {
	if o.Body == nil {
		return nil
	}
	rest := o.rest(given)
	var whole any
	name := ""
	for _, candidate := range slices.Sorted(maps.Keys(rest)) {
		if o.isBody(candidate) {
			whole, name = rest[candidate], candidate
		}
	}
	if whole != nil && len(rest) > 1 {
		for _, other := range slices.Sorted(maps.Keys(rest)) {
			if other != name {
				return unfit(other, "%s has no place: %s is the whole body", o.ID, shorten.Quoted(name))
			}
		}
	}
	if whole == nil {
		for _, f := range o.Body.fields {
			if rest[f.name] == nil && f.required {
				rest[f.name] = f.value
			}
		}
		if len(rest) == 0 {
			return nil
		}
		whole, name = rest, "body"
	}
	data, contentType, err := o.Body.encode(whole)
	if err != nil {
		return unfit(name, "%s %s", o.ID, err)
	}
	r.Body = data
	if r.Headers["Content-Type"] == "" {
		r.Headers["Content-Type"] = contentType
	}
	return nil
}

// encode writes a body by its content type.
func (b *Body) encode(v any) (data []byte, contentType string, err error) {
	fields, isObject := v.(map[string]any)
	switch {
	case isJSON(b.Media):
		if data, err = expr.Encode(v); err == nil {
			data, err = content.Encode(b.Media, string(data))
		}
		return data, b.Media, err
	case isForm(b.Media) && !isObject:
		return nil, "", fmt.Errorf("must be an object: it is sent as a form")
	case plain(b.Media) == "multipart/form-data":
		return b.parts(fields)
	case isForm(b.Media):
		text, err := b.form(fields)
		return []byte(text), b.Media, err
	}
	if _, isArray := v.([]any); isArray || isObject {
		return nil, "", fmt.Errorf("must be text, given as `body`: it is sent as %s", b.Media)
	}
	data, err = content.Encode(b.Media, plainText(v))
	return data, b.Media, err
}

// form writes a form. It repeats the name for each item of an array, unless the document defines another style for the property.
func (b *Body) form(fields map[string]any) (string, error) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p := b.styled[name]
		if p == nil {
			all = append(all, url.Values{name: items(fields[name])}.Encode())
			continue
		}
		value, err := p.joined(fields[name])
		if err != nil {
			return "", err
		}
		pairs, err := p.pairs(value)
		if err != nil {
			return "", err
		}
		all = append(all, pairs...)
	}
	return strings.Join(slices.DeleteFunc(all, func(pair string) bool { return pair == "" }), "&"), nil
}
