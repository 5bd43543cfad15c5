package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Schema describes data. Either Document or Resource is set.
type Schema struct {
	Pointer  Pointer
	Format   string // json, or json:<version>
	Document any    // JSON Schema as a JSON value
	Resource *ExternalResource
}

// The versions of JSON Schema that a schema may be of, by their URIs.
const (
	Draft7    = "http://json-schema.org/draft-07/schema#"
	Draft2019 = "https://json-schema.org/draft/2019-09/schema"
	Draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// Dialect returns the version of JSON Schema of a schema whose document does not specify it (semantics 3.9).
func (s *Schema) Dialect() string {
	switch s.Format {
	case "json:2020-12":
		return Draft2020
	case "json:2019-09":
		return Draft2019
	}
	return Draft7
}

// Unsupported returns the diagnostic for a schema in an unknown language (semantics 3.9).
func (s *Schema) Unsupported() (d Diagnostic, unsupported bool) {
	language, _, _ := strings.Cut(s.Format, ":")
	return Diagnostic{
		Code: "SW803", Pointer: s.Pointer.Key("format"), Message: fmt.Sprintf("schemas of format `%s` are not supported", s.Format), Help: "use `json`",
	}, language != "json" && language != ""
}

func (p *parser) schema(parent *object) *Schema {
	n := parent.value("schema")
	if n == nil {
		return nil
	}
	at := parent.at.Key("schema")
	if isBareSchema(n) {
		p.add(Diagnostic{
			Code: "SW107", Message: "a schema stands under `document`", Pointer: at, Range: p.src.RangeOf(n),
			Label: "write it below `document`", Fix: p.src.Wrap(n, "document"),
		})
		return &Schema{Pointer: at, Format: "json", Document: p.data(n, at)}
	}
	o := p.object(n, at, "a schema", "format", "document", "resource")
	s := &Schema{Pointer: at, Format: o.textOr("format", "json")}
	switch o.exactlyOne("document", "resource") {
	case "document":
		s.Document = o.data("document")
	case "resource":
		s.Resource = o.resource("resource")
	}
	return s
}

// isBareSchema reports whether an object is a JSON Schema itself, without the `document` around it.
func isBareSchema(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	found := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if slices.Contains([]string{"format", "document", "resource"}, key) {
			return false
		}
		found = found || slices.Contains(schemaKeywords(), key)
	}
	return found
}

// schemaKeywords are keywords that only a JSON Schema has.
func schemaKeywords() []string {
	return []string{
		"$schema", "$id", "$ref", "$defs", "definitions", "type", "properties", "required", "items", "enum", "const",
		"allOf", "anyOf", "oneOf", "not", "additionalProperties", "patternProperties", "pattern", "minimum", "maximum",
		"minLength", "maxLength", "minItems", "maxItems",
	}
}
