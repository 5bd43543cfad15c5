package interpreter

import (
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// Schema validates data. A nil Schema accepts everything.
type Schema struct {
	compiled *jsonschema.Schema
}

// Validate returns a validation error if v does not fit; what names v in it.
func (s *Schema) Validate(what string, v any) *errors.Error {
	if s == nil {
		return nil
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return errors.Validationf("%s cannot be validated: %s", what, err)
	}
	return errors.Validationf("%s does not fit its schema: %s", what, leaves(invalid))
}

// leaves tells the causes that no deeper one explains.
func leaves(e *jsonschema.ValidationError) string {
	if len(e.Causes) > 0 {
		var all []string
		for _, cause := range e.Causes {
			all = append(all, leaves(cause))
		}
		return strings.Join(all, "; ")
	}
	if e.InstanceLocation == "" {
		return e.Message
	}
	return e.InstanceLocation + ": " + e.Message
}

// schema compiles a schema definition; its dialect is draft-07 unless it says otherwise (semantics 3.9).
func (c *compiler) schema(s *dsl.Schema) *Schema {
	if s == nil {
		return nil
	}
	document := s.Document
	if s.Resource != nil {
		data, ok := c.resource(s.Resource)
		if !ok {
			return nil
		}
		var err error
		if document, err = expr.Decode(data); err != nil {
			c.report("SW803", s.Resource.Pointer, fmt.Sprintf("%s is no JSON document: %s", s.Resource.Endpoint.URI, err), "")
			return nil
		}
	}
	draft := jsonschema.Draft7
	switch format, version, _ := strings.Cut(s.Format, ":"); {
	case format != "" && format != "json":
		c.report("SW803", s.Pointer.Key("format"), fmt.Sprintf("schemas of format `%s` are not supported", s.Format), "use `json`")
		return nil
	case version == "2020-12":
		draft = jsonschema.Draft2020
	case version == "2019-09":
		draft = jsonschema.Draft2019
	}
	compiled, err := compileSchema(document, draft)
	if err != nil {
		c.report("SW803", s.Pointer, "this is no valid JSON Schema: "+err.Error(), "")
		return nil
	}
	return &Schema{compiled: compiled}
}

func compileSchema(document any, draft *jsonschema.Draft) (*jsonschema.Schema, error) {
	const url = "workflow:schema.json"
	text, err := expr.Encode(document)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = draft
	compiler.LoadURL = func(ref string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("the reference %s leaves the schema, which is not allowed", ref)
	}
	if err := compiler.AddResource(url, strings.NewReader(string(text))); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(url)
	var invalid *jsonschema.SchemaError
	if errors.As(err, &invalid) {
		var cause *jsonschema.ValidationError
		if errors.As(invalid.Err, &cause) {
			return nil, errors.New(leaves(cause))
		}
		return nil, invalid.Err
	}
	return compiled, err
}

// in applies an input transform: schema on the raw value, then from (semantics 3.1).
func (t transform) in(s *Scope, raw any) (any, *errors.Error) {
	if err := t.schema.Validate("the input", raw); err != nil {
		return nil, err
	}
	return t.apply(s, raw)
}

// out applies an output transform: as, then schema on the result.
func (t transform) out(s *Scope, raw any) (any, *errors.Error) {
	output, err := t.apply(s, raw)
	if err != nil {
		return nil, err
	}
	return output, t.schema.Validate("the output", output)
}
