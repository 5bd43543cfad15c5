package schema

import (
	"maps"
	"slices"
	"strings"
)

// shape is a JSON Schema under construction.
type shape map[string]any

// about returns the shape with a description.
func (s shape) about(description string) shape {
	described := maps.Clone(s)
	described["description"] = description
	return described
}

// properties are the members of an object, by name.
type properties map[string]shape

// object is an object without other members.
func object(required []string, members properties) shape {
	s := shape{"type": "object", "properties": members, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// open marks an object that may have further members in the DSL, although they have no meaning: only the editor's schema refuses them.
func (s shape) open() shape {
	opened := maps.Clone(s)
	opened[openMark] = true
	return opened
}

const openMark = "open"

func needs(names ...string) []string { return names }

// mapOf is an object whose members may have any names.
func mapOf(member shape) shape { return shape{"type": "object", "additionalProperties": member} }

// single is an object with one member, which may have any name.
func single(member shape) shape {
	return shape{"type": "object", "additionalProperties": member, "minProperties": 1, "maxProperties": 1}
}

func listOf(item shape) shape { return shape{"type": "array", "items": item} }

// text is a string that is not blank.
func text() shape { return pattern(`\S`) }

// anyText is a string that may be empty, because it is data.
func anyText() shape { return shape{"type": "string"} }

func pattern(p string) shape { return shape{"type": "string", "pattern": p} }

func oneOf(shapes ...shape) shape { return shape{"oneOf": shapes} }

func anyOf(shapes ...shape) shape { return shape{"anyOf": shapes} }

func enum(values ...string) shape { return shape{"type": "string", "enum": values} }

// likely is text of which some values are offered, and any other value is accepted too.
func likely(values ...string) shape { return anyOf(enum(values...), text()) }

// directive is a flow directive.
func directive() shape { return likely("continue", "exit", "end") }

// says adds the message that an editor shows for a value of another form.
func (s shape) says(message string) shape {
	with := maps.Clone(s)
	with["errorMessage"], with["patternErrorMessage"] = message, message
	return with
}

// called gives the value the name by which an editor offers an item of a list.
func (s shape) called(name string) shape {
	with := maps.Clone(s)
	with[nameMark] = name
	return with
}

// nameMark is a title in the editor's schema only.
const nameMark = "called"

// offers adds the suggestions of an editor in the place of the value. For a list it is an item: the editor writes the dash before it, unless it is
// already there.
func (s shape) offers(snippets []any) shape {
	with := maps.Clone(s)
	with["defaultSnippets"] = snippets
	return with
}

func constant(value string) shape { return shape{"const": value} }

func boolean() shape { return shape{"type": "boolean"} }

func integer() shape { return shape{"type": "integer"} }

func wholeNumber() shape { return shape{"type": "integer", "minimum": 0} }

func anything() shape { return shape{} }

func anyObject() shape { return shape{"type": "object"} }

// with returns the members of both maps.
func (p properties) with(more properties) properties {
	all := maps.Clone(p)
	maps.Copy(all, more)
	return all
}

// exactlyOne makes an object require exactly one of the given members.
func (s shape) exactlyOne(names ...string) shape {
	var choices []shape
	for _, name := range names {
		choices = append(choices, shape{"required": needs(name)})
	}
	with := maps.Clone(s)
	with["oneOf"] = choices
	return with
}

// ref names a definition; the place of definitions depends on the draft.
type ref string

func use(name string) shape { return shape{"$ref": ref(name)} }

// form contains the differences between the two shapes of the schema.
type form struct {
	definitions string // the place of definitions
	dependent   string // the keyword for properties that need other properties
	editor      bool   // descriptions have the form that editors show, and open objects are closed
}

func exactForm() form { return form{definitions: "#/$defs/", dependent: "dependentRequired"} }

func editorForm() form {
	return form{definitions: "#/definitions/", dependent: "dependencies", editor: true}
}

// dependent represents the keyword dependentRequired of draft 2020-12, which is dependencies in draft-07.
const dependent = "dependent"

// resolve writes a shape in a form.
func resolve(v any, f form) any {
	switch v := v.(type) {
	case ref:
		return f.definitions + string(v)
	case shape:
		return resolveShape(v, f)
	case properties:
		resolved := map[string]any{}
		for name, member := range v {
			resolved[name] = resolve(member, f)
		}
		return resolved
	case []shape:
		resolved := make([]any, len(v))
		for i, s := range v {
			resolved[i] = resolve(s, f)
		}
		return resolved
	}
	return v
}

func resolveShape(s shape, f form) any {
	resolved := map[string]any{}
	for key, value := range s {
		switch {
		case key == nameMark:
			if f.editor {
				resolved["title"] = value
			}
		case key == openMark, key == "additionalProperties" && s[openMark] != nil && !f.editor:
		case slices.Contains(forEditors(), key) && !f.editor:
		case key == dependent:
			resolved[f.dependent] = value
		default:
			resolved[key] = resolve(value, f)
		}
		if key == "description" && f.editor {
			resolved["markdownDescription"] = value
		}
	}
	if f.editor {
		if required, ok := s["required"].([]string); ok && s["type"] == "object" && s["title"] == nil { // the entry that writes the required members
			resolved["title"] = "{" + strings.Join(required, ", ") + "}"
		}
		return besideRef(resolved)
	}
	return resolved
}

// forEditors are the keywords that only the editor's schema has.
func forEditors() []string {
	return []string{"defaultSnippets", "errorMessage", "patternErrorMessage", "examples"}
}

// besideRef keeps a description beside a reference: draft-07 ignores the siblings of $ref.
func besideRef(s map[string]any) any {
	to, ok := s["$ref"]
	if !ok || len(s) == 1 {
		return s
	}
	delete(s, "$ref")
	s["allOf"] = []any{map[string]any{"$ref": to}}
	return s
}
