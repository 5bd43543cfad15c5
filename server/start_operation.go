package server

import (
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/definition"
)

// This file describes the starts of workflows, each as an operation of its own.

// operationNames returns the names of the start operations of workflows. They do not contain versions, so that programs can keep the names.
// Generators of clients drop characters other than letters and digits: names that become equal then get a suffix.
func (s *Server) operationNames(all []control.InputSchema) map[definition.Reference]string {
	named := func(w control.InputSchema) string {
		return strings.NewReplacer("-", "_").Replace("start_" + w.Namespace + "_" + w.Name)
	}
	generated := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	times := map[string]int{}
	for _, r := range s.routes {
		times[generated(r.ID)]++
	}
	for _, w := range all {
		times[generated(named(w))]++
	}
	names := map[definition.Reference]string{}
	for _, w := range all {
		name := named(w)
		if times[generated(name)] > 1 {
			name += "_" + suffixOf(w)
		}
		names[w.Reference] = name
	}
	return names
}

// suffixOf distinguishes workflows whose names are equal for a generator. It contains only small letters and digits.
func suffixOf(w control.InputSchema) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(w.Namespace+"/"+w.Name)))
}

// startBody is the body of a start of a workflow: the options of any start, with an input that fits the workflow's schema. taken are the identifiers
// of the schemas that are already described.
func startBody(options *huma.RequestBody, w control.InputSchema, taken map[string]bool) *huma.RequestBody {
	var input *huma.Schema
	switch schema := w.Schema.(type) {
	case map[string]any:
		if alone := standalone(schema, w); alone != nil && unique(alone, taken) {
			input = &huma.Schema{Extensions: alone}
		}
	case bool:
		if !schema {
			input = &huma.Schema{Not: &huma.Schema{}}
		}
	}
	if input == nil {
		return options
	}
	object := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"input": input}}
	return &huma.RequestBody{Content: map[string]*huma.MediaType{
		typeJSON: {Schema: &huma.Schema{AllOf: []*huma.Schema{options.Content[typeJSON].Schema, object}}},
	}}
}

// standalone returns a workflow's schema for use in a document: with a name, so that its references are to itself, and with its version of JSON
// Schema. It returns nil for a version that descriptions cannot contain.
func standalone(schema map[string]any, w control.InputSchema) map[string]any {
	dialect, ok := schema["$schema"].(string)
	if !ok {
		dialect = w.Dialect
	}
	if strings.Contains(dialect, "draft-04") {
		return nil
	}
	alone := maps.Clone(schema)
	if strings.HasPrefix(dialect, "http://json-schema.org/draft-0") && schema["$ref"] != nil { // these versions ignore the members beside $ref
		alone = map[string]any{"allOf": []any{map[string]any{"$ref": schema["$ref"]}}}
		for _, name := range []string{"definitions", "$defs"} {
			if v, there := schema[name]; there {
				alone[name] = v
			}
		}
	}
	if alone["$id"] == nil {
		alone["$id"] = "urn:swrun:" + w.Namespace + ":" + w.Name + ":" + w.Version
	}
	alone["$schema"] = dialect
	return alone
}

// unique reports whether no identifier in a schema is taken, and takes the identifiers. Two schemas in one document must not have the same
// identifier.
func unique(schema any, taken map[string]bool) bool {
	all := identifiers(nil, schema)
	if slices.ContainsFunc(all, func(id string) bool { return taken[id] }) {
		return false
	}
	for _, id := range all {
		taken[id] = true
	}
	return true
}

// identifiers appends the absolute identifiers of a schema and of its nested schemas.
func identifiers(all []string, v any) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			all = identifiers(all, item)
		}
	case map[string]any:
		for name, member := range v {
			if id, ok := member.(string); ok && name == "$id" && strings.Contains(id, ":") {
				all = append(all, id)
			} else {
				all = identifiers(all, member)
			}
		}
	}
	return all
}
