package spec

import _ "embed"

//go:generate go test -run TestTheFilesAreFresh -update

//go:embed workflow.schema.json
var exact string

//go:embed editor.schema.json
var editor string

// Schema returns the JSON Schema of DSL 1.0.3 and its additions of 2026, in draft 2020-12. It accepts the documents that package dsl accepts, except
// for conditions that a schema cannot express: duplicate keys, references, the names of variables.
func Schema() []byte { return []byte(exact) }

// EditorSchema returns the same schema in draft-07, with descriptions, snippets and a chain of conditions that leads an editor to the one kind of
// task that is being written. It is stricter where the DSL lets an object have any member: there it accepts only members with a meaning.
func EditorSchema() []byte { return []byte(editor) }
