package openapi

import (
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/internal/description"
	"github.com/swrun/swrun/internal/shorten"
)

// Operation contains the parts of an operation that a call needs.
type Operation struct {
	ID         string
	Method     string // in upper case
	Path       string // with its variables in braces
	Parameters []*Parameter
	Body       *Body    // nil without a body
	Servers    []string // absolute URLs, the first choice first
	Consumes   []string // of Swagger: the content types of its body
}

// Parameter is a value that goes into the request beside its body.
type Parameter struct {
	Name     string
	In       string // path, query, header or cookie
	Required bool
	Default  any // nil without a default
	style    string
	explode  bool
	reserved bool   // characters with a meaning in a query are not escaped
	join     string // separator that joins arrays to one text; empty if the style defines it
	json     bool   // its value is written as JSON
}

// read reads an operation.
func (d *Document) read(id string, at place) (*Operation, error) {
	o := &Operation{ID: id, Method: strings.ToUpper(at.method), Path: at.path}
	raw := description.Object(at.item[at.method])
	var err error
	if d.swagger {
		o.Consumes = texts(raw["consumes"])
		if raw["consumes"] == nil {
			o.Consumes = texts(d.root["consumes"])
		}
	}
	if err = d.readParameters(o, slices.Concat(description.List(raw["parameters"]), description.List(at.item["parameters"]))); err != nil {
		return nil, fmt.Errorf("the operation %s: %w", shorten.Quoted(id), err)
	}
	if !d.swagger && raw["requestBody"] != nil {
		if o.Body, err = d.readBody(raw["requestBody"]); err != nil {
			return nil, fmt.Errorf("the body of the operation %s: %w", shorten.Quoted(id), err)
		}
	}
	if o.Servers, err = d.servers(raw, at.item); err != nil {
		return nil, fmt.Errorf("the operation %s: %w", shorten.Quoted(id), err)
	}
	return o, nil
}

// maxParameters is the maximum number of parameters of an operation.
const maxParameters = 1000

// readParameters reads parameters. Of several parameters with the same name and place, the first counts: the operation's own parameter comes before
// its path's.
func (d *Document) readParameters(o *Operation, all []any) error {
	if len(all) > maxParameters {
		return fmt.Errorf("it has more than %d parameters", maxParameters)
	}
	for i, one := range all {
		raw, err := d.resolve(one)
		if err != nil {
			return fmt.Errorf("parameter %d: %w", i+1, err)
		}
		name, in := description.Text(raw["name"]), description.Text(raw["in"])
		switch {
		case d.swagger && in == "body":
			o.body(name, isTrue(raw["required"]))
		case d.swagger && in == "formData":
			o.form(raw)
		case name == "" || !slices.Contains([]string{"path", "query", "header", "cookie"}, in):
			return fmt.Errorf("parameter %d has no name, or stands in %s: path, query, header and cookie are known", i+1, shorten.Quoted(in))
		case !slices.ContainsFunc(o.Parameters, func(p *Parameter) bool { return p.Name == name && p.In == in }):
			p, err := d.parameter(raw)
			if err != nil {
				return fmt.Errorf("the parameter %s: %w", shorten.Quoted(name), err)
			}
			o.Parameters = append(o.Parameters, p)
		}
	}
	return nil
}

func (d *Document) parameter(raw map[string]any) (*Parameter, error) {
	p := &Parameter{Name: description.Text(raw["name"]), In: description.Text(raw["in"])}
	p.Required = isTrue(raw["required"]) || p.In == "path"
	if d.swagger {
		p.Default = raw["default"]
		p.collection(description.Text(raw["collectionFormat"]))
		return p, nil
	}
	schema, err := d.resolve(raw["schema"])
	if err != nil {
		return nil, err
	}
	p.Default = schema["default"]
	for media := range description.Object(raw["content"]) {
		p.json = p.json || isJSON(media)
	}
	p.style = description.Text(raw["style"])
	if p.style == "" {
		p.style = map[string]string{"path": "simple", "header": "simple"}[p.In]
	}
	if p.style == "" {
		p.style = "form"
	}
	p.reserved = isTrue(raw["allowReserved"]) && (p.In == "query" || p.In == inForm)
	p.explode = p.style == "form" || p.style == "deepObject"
	if given, ok := raw["explode"].(bool); ok {
		p.explode = given
	}
	switch separator := map[string]string{"spaceDelimited": " ", "pipeDelimited": "|"}[p.style]; {
	case separator != "" && p.explode:
		p.style = "form"
	case separator != "":
		p.style, p.join = "form", separator
	}
	return p, nil
}

// collection sets how Swagger writes an array.
func (p *Parameter) collection(format string) {
	p.style = "form"
	if p.In == "path" || p.In == "header" {
		p.style = "simple"
	}
	p.explode = format == "multi"
	p.join = map[string]string{"ssv": " ", "tsv": "\t", "pipes": "|"}[format]
}

// Body is the body of an operation.
type Body struct {
	Name     string // name of the parameter that is the whole body, besides body; may be empty
	Required bool
	Media    string   // its content type
	fields   []*field // of a form of Swagger
	names    []string // of its possible properties; nil if they are not known

	files  map[string]string     // of a form in parts: the properties that are files, with their content types
	styled map[string]*Parameter // of other forms: the properties for which the document defines a style
}

// field is a field of a form of Swagger.
type field struct {
	name     string
	required bool
	value    any // the default, or nil
}

func (o *Operation) body(name string, required bool) {
	if o.Body == nil {
		o.Body = &Body{Name: name, Required: required, Media: choose(o.Consumes, "application/json")}
	}
}

func (b *Body) addFile(name string) {
	if b.files == nil {
		b.files = map[string]string{}
	}
	b.files[name] = file
}

func (b *Body) setStyle(p *Parameter) {
	if b.styled == nil {
		b.styled = map[string]*Parameter{}
	}
	b.styled[p.Name] = p
}

func (o *Operation) form(raw map[string]any) {
	if o.Body == nil {
		o.Body = &Body{Media: choose(o.Consumes, "application/x-www-form-urlencoded"), names: []string{}}
	}
	name := description.Text(raw["name"])
	if isJSON(o.Body.Media) {
		o.Body.Media = "application/x-www-form-urlencoded"
	}
	if description.Text(raw["type"]) == "file" {
		o.Body.Media = "multipart/form-data"
		o.Body.addFile(name)
	}
	if slices.Contains(o.Body.names, name) {
		return
	}
	if format := description.Text(raw["collectionFormat"]); format != "" {
		p := &Parameter{Name: name, In: inForm}
		p.collection(format)
		o.Body.setStyle(p)
	}
	o.Body.fields = append(o.Body.fields, &field{name, isTrue(raw["required"]), raw["default"]})
	o.Body.names = append(o.Body.names, name)
}

// readBody reads a request body of OpenAPI 3.
func (d *Document) readBody(v any) (*Body, error) {
	raw, err := d.resolve(v)
	if err != nil {
		return nil, err
	}
	content := description.Object(raw["content"])
	var media []string
	for name := range content {
		media = append(media, name)
	}
	slices.Sort(media)
	b := &Body{Required: isTrue(raw["required"]), Media: choose(media, "application/json")}
	chosen := description.Object(content[key(content, b.Media)])
	schema, err := d.resolve(chosen["schema"])
	if err != nil {
		return nil, err
	}
	if b.styled, err = d.styledOf(description.Object(chosen["encoding"])); err != nil {
		return nil, err
	}
	if open, given := schema["additionalProperties"].(bool); given && !open && schema["allOf"] == nil && schema["anyOf"] == nil && schema["oneOf"] == nil {
		b.names = []string{}
		for name := range description.Object(schema["properties"]) {
			b.names = append(b.names, name)
		}
		slices.Sort(b.names)
	}
	b.files = d.filesOf(schema)
	return b, nil
}

// inForm is the place of a property of a form.
const inForm = "form"

// styledOf returns the properties of a form that define a style. It is written like the style of a query parameter.
func (d *Document) styledOf(encoding map[string]any) (map[string]*Parameter, error) {
	styled := map[string]*Parameter{}
	for name, v := range encoding {
		given := description.Object(v)
		if given["style"] == nil && given["explode"] == nil && given["allowReserved"] == nil {
			continue
		}
		p, err := d.parameter(map[string]any{"name": name, "in": inForm, "style": given["style"], "explode": given["explode"], "allowReserved": given["allowReserved"]})
		if err != nil {
			return nil, err
		}
		styled[name] = p
	}
	return styled, nil
}

// key returns the member of content that a content type was chosen from.
func key(content map[string]any, media string) string {
	if _, ok := content[media]; ok {
		return media
	}
	return "*/*"
}

// choose returns the content type of a body: JSON if possible, then a form, then the first one. usual is used for an empty list and for any type.
func choose(media []string, usual string) string {
	ranked := func(is func(string) bool) string {
		if i := slices.IndexFunc(media, is); i >= 0 {
			return media[i]
		}
		return ""
	}
	for _, is := range []func(string) bool{
		func(m string) bool { return plain(m) == "application/json" }, isJSON, isForm, func(m string) bool { return !strings.Contains(m, "*") && validMedia(m) },
	} {
		if found := ranked(is); found != "" {
			return found
		}
	}
	return usual
}

// validMedia reports whether a content type can be sent.
func validMedia(m string) bool {
	_, _, err := mime.ParseMediaType(m)
	return err == nil && !strings.ContainsFunc(m, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// plain returns a content type without its parameters.
func plain(media string) string {
	name, _, err := mime.ParseMediaType(media)
	if err != nil {
		return ""
	}
	return name
}

func isJSON(media string) bool { return content.IsJSON(plain(media)) }

func isForm(media string) bool {
	name := plain(media)
	return name == "application/x-www-form-urlencoded" || name == "multipart/form-data"
}

func texts(v any) (all []string) {
	for _, item := range description.List(v) {
		if found := description.Text(item); found != "" {
			all = append(all, found)
		}
	}
	return all
}
