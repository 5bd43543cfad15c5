package spec

import "slices"

// shape is a JSON Schema in the making.
type shape map[string]any

// about gives a shape its description.
func (s shape) about(description string) shape {
	described := shape{"description": description}
	for key, value := range s {
		described[key] = value
	}
	return described
}

// properties are the members of an object, by name.
type properties map[string]shape

// object is a closed object.
func object(required []string, members properties) shape {
	s := shape{"type": "object", "properties": members, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// open marks an object that the DSL lets have further members, though they mean nothing: only editors refuse them.
func (s shape) open() shape {
	opened := shape{openMark: true}
	for key, value := range s {
		opened[key] = value
	}
	return opened
}

const openMark = "open"

func needs(names ...string) []string { return names }

// mapOf is an object whose members have names of their own.
func mapOf(member shape) shape { return shape{"type": "object", "additionalProperties": member} }

// single is an object with one member, which has a name of its own.
func single(member shape) shape {
	return shape{"type": "object", "additionalProperties": member, "minProperties": 1, "maxProperties": 1}
}

func listOf(item shape) shape { return shape{"type": "array", "items": item} }

func text() shape { return shape{"type": "string"} }

func pattern(p string) shape { return shape{"type": "string", "pattern": p} }

func oneOf(shapes ...shape) shape { return shape{"oneOf": shapes} }

func anyOf(shapes ...shape) shape { return shape{"anyOf": shapes} }

func enum(values ...string) shape {
	s := shape{"type": "string", "enum": values}
	return s
}

func constant(value string) shape { return shape{"const": value} }

func boolean() shape { return shape{"type": "boolean"} }

func integer() shape { return shape{"type": "integer"} }

func anything() shape { return shape{} }

func anyObject() shape { return shape{"type": "object"} }

// with returns the members of all maps together.
func (p properties) with(more properties) properties {
	all := properties{}
	for _, members := range []properties{p, more} {
		for name, member := range members {
			all[name] = member
		}
	}
	return all
}

// exactlyOne makes an object need just one of the given members.
func (s shape) exactlyOne(names ...string) shape {
	var choices []shape
	for _, name := range names {
		choices = append(choices, shape{"required": needs(name)})
	}
	with := s.about("")
	delete(with, "description")
	if d, ok := s["description"]; ok {
		with["description"] = d
	}
	with["oneOf"] = choices
	return with
}

// ref names a definition; where definitions stand depends on the draft.
type ref string

func use(name string) shape { return shape{"$ref": ref(name)} }

// resolve writes a shape for a draft: definitions stand at prefix, and markdown says whether descriptions are given in
// the form that editors show.
func resolve(v any, prefix string, markdown bool) any {
	switch v := v.(type) {
	case ref:
		return prefix + string(v)
	case shape:
		return resolveMap(v, prefix, markdown)
	case properties:
		resolved := map[string]any{}
		for name, member := range v {
			resolved[name] = resolve(member, prefix, markdown)
		}
		return resolved
	case []shape:
		resolved := make([]any, len(v))
		for i, s := range v {
			resolved[i] = resolve(s, prefix, markdown)
		}
		return resolved
	}
	return v
}

func resolveMap(s shape, prefix string, markdown bool) any {
	resolved := map[string]any{}
	for key, value := range s {
		if key == openMark || key == "additionalProperties" && s[openMark] != nil && !markdown {
			continue
		}
		resolved[key] = resolve(value, prefix, markdown)
		if key == "description" && markdown {
			resolved["markdownDescription"] = value
		}
	}
	return besideRef(resolved, prefix)
}

// besideRef keeps a description beside a reference: draft-07 ignores what stands next to $ref.
func besideRef(s map[string]any, prefix string) any {
	to, ok := s["$ref"]
	if !ok || len(s) == 1 || !slices.Contains([]string{"#/definitions/"}, prefix) {
		return s
	}
	delete(s, "$ref")
	s["allOf"] = []any{map[string]any{"$ref": to}}
	return s
}
