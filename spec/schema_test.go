package spec_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/spec"
)

func mustCompile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.CompileString("swrun.json", string(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func mustData(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBothShapesAcceptTheExamples: both shapes accept our examples, and the specification's examples if they are beside the checkout.
func TestBothShapesAcceptTheExamples(t *testing.T) {
	own, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(own) < 20 {
		t.Fatal("the examples are missing", err)
	}
	official, err := filepath.Glob("../../shared/spec/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(official) == 0 {
		t.Log("the specification's examples are not beside the checkout (../shared/spec/examples)")
	}
	shapes := map[string]*jsonschema.Schema{"exact": mustCompile(t, spec.Schema()), "editor": mustCompile(t, spec.EditorSchema())}
	for _, file := range append(own, official...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, schema := range shapes {
			if err := schema.Validate(mustData(t, string(text))); err != nil {
				t.Errorf("%s, %s shape: %#v", file, name, err)
			}
		}
	}
}

// TestTheEditorShapeRefusesTypos: also in places where the DSL lets objects have any member.
func TestTheEditorShapeRefusesTypos(t *testing.T) {
	schema := mustCompile(t, spec.EditorSchema())
	const header = "document: {dsl: 1.0.3, namespace: a, name: a, version: 0.1.0}\ndo:\n- a: "
	for name, task := range map[string]string{
		"a keyword":              "{sets: {a: 1}}",
		"a property of the task": "{set: {a: 1}, tehn: end}",
		"a duration unit":        "{wait: {second: 1}}",
		"a property of a call":   "{call: http, with: {method: get, endpont: 'https://example.com'}}",
		"an error filter":        "{try: [], catch: {errors: {with: {typ: x}}}}",
		"two keywords":           "{set: {a: 1}, wait: PT1S}",
		"a map for a list":       "{do: {b: {set: {a: 1}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			if schema.Validate(mustData(t, header+task)) == nil {
				t.Errorf("%s is accepted", task)
			}
		})
	}
}

// TestTheEditorShapeIsFlat: it has no keywords that editors ignore, and has descriptions that they show.
func TestTheEditorShapeIsFlat(t *testing.T) {
	text := string(spec.EditorSchema())
	for _, keyword := range []string{"unevaluatedProperties", "$defs", "dependentSchemas", `"open"`} {
		if strings.Contains(text, keyword) {
			t.Errorf("it uses %s", keyword)
		}
	}
	for _, keyword := range []string{"markdownDescription", "defaultSnippets", "errors/timeout", "draft-07"} {
		if !strings.Contains(text, keyword) {
			t.Errorf("it lacks %s", keyword)
		}
	}
}

// TestTheEditorShapeDescribesEveryProperty: every property has a description, its own or the description of the definition to which it refers.
func TestTheEditorShapeDescribesEveryProperty(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(spec.EditorSchema(), &root); err != nil {
		t.Fatal(err)
	}
	visited := 0
	undescribed(root, root, "", func(at string, described bool) {
		if visited++; !described {
			t.Errorf("%s has no description", at)
		}
	})
	if visited < 300 {
		t.Errorf("only %d properties were looked at", visited)
	}
}

// undescribed calls visit for every property of every object in v.
func undescribed(root map[string]any, v any, at string, visit func(at string, described bool)) {
	switch v := v.(type) {
	case map[string]any:
		if members, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			for name, member := range members {
				visit(at+"/properties/"+name, isDescribed(root, member.(map[string]any)))
			}
		}
		for key, inner := range v {
			if key != "defaultSnippets" {
				undescribed(root, inner, at+"/"+key, visit)
			}
		}
	case []any:
		for i, inner := range v {
			undescribed(root, inner, fmt.Sprint(at, "/", i), visit)
		}
	}
}

func isDescribed(root, property map[string]any) bool {
	if name, ok := property["$ref"].(string); ok {
		property = root["definitions"].(map[string]any)[strings.TrimPrefix(name, "#/definitions/")].(map[string]any)
	}
	return property["description"] != nil && property["markdownDescription"] == property["description"]
}
