package dsl_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/spec"
)

// TestParseAgreesWithTheSchema changes the specification's examples in every place, one change at a time, and
// compares what Parse accepts with what the official schema accepts. They may differ only where the parser is lenient
// or strict on purpose.
func TestParseAgreesWithTheSchema(t *testing.T) {
	schema, ours := mustOfficialSchema(t), mustSchema(t, spec.Schema())
	files, err := filepath.Glob("../../shared/spec/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen, compared := map[string]bool{}, 0
	comparisons := make(chan func())
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for next := range comparisons {
				next()
			}
		})
	}
	defer workers.Wait()
	defer close(comparisons)
	for _, file := range append(files, "testdata/valid/everything.yaml") {
		for _, document := range pieces(mustDocument(t, file)) {
			for _, s := range []*jsonschema.Schema{schema, ours} {
				if err := s.Validate(document); err != nil {
					t.Fatalf("%s: %#v", file, err)
				}
			}
			for _, m := range mutations(document, "") {
				if !seen[m.place()] {
					seen[m.place()] = true
					if len(seen)%everyNth == 0 {
						compared++
						comparisons <- func() { compare(t, schema, ours, document, m) }
					}
				}
			}
		}
	}
	t.Logf("%d documents compared", compared)
	if compared < 10_000/everyNth {
		t.Errorf("only %d documents compared", compared)
	}
}

// compare holds the parser against the official schema, which it may leave on purpose, and our schema against the
// parser, from which it may differ only where a schema cannot express the rule.
func compare(t *testing.T, schema, ours *jsonschema.Schema, document any, m mutation) {
	t.Helper()
	text := m.apply(t, document)
	mutated := mustJSON(t, text)
	want := schema.Validate(mutated) == nil
	_, diagnostics := dsl.Parse("mutated.json", text)
	if m.what == becomesNull && diagnostics.Err() == nil { // a schema cannot say that null is absence (semantics 1.3a)
		return
	}
	if got := diagnostics.Err() == nil; got != want && !deliberate(m, diagnostics) {
		t.Errorf("%s %s: accepted by the schema: %v, by Parse: %v: %v\n%s", m.at, m.what, want, got, diagnostics, text)
	}
	if got, parsed := ours.Validate(mutated) == nil, diagnostics.Err() == nil; got != parsed && !beyondSchema(diagnostics) {
		t.Errorf("%s %s: accepted by our schema: %v, by Parse: %v: %v\n%s", m.at, m.what, got, parsed, diagnostics, text)
	}
}

// pieces cuts a workflow into small ones that hold one task, component or property each: the schema is slow on large
// documents.
func pieces(document any) []any {
	whole := document.(map[string]any)
	piece := func(key string, value any) any {
		return map[string]any{"document": whole["document"], "do": []any{}, key: value}
	}
	var all []any
	for _, key := range slices.Sorted(maps.Keys(whole)) {
		switch value := whole[key].(type) {
		case []any:
			for _, task := range value {
				all = append(all, piece(key, []any{task}))
			}
		case map[string]any:
			for _, inner := range slices.Sorted(maps.Keys(value)) {
				if key == "use" {
					all = append(all, piece(key, map[string]any{inner: value[inner]}))
				}
			}
			if key != "use" {
				all = append(all, piece(key, value))
			}
		}
	}
	return all
}

// TestEverythingIsValid: the document that uses every property has no diagnostics.
func TestEverythingIsValid(t *testing.T) {
	text, err := os.ReadFile("testdata/valid/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, found := dsl.Parse("everything.yaml", text); len(found) > 0 {
		t.Error(found)
	}
}

// lenient are the places where Parse takes more than the schema (semantics 1.7, 17.2).
var lenient = regexp.MustCompile(`/(authentication|bearer) becomes "|` + // the name of a policy; the token
	`/for/in(/\d+)? becomes |` + // items of any type
	`/with/(query|headers)(/[^/]+)? becomes |` + // values of any type
	`/run/\w+/arguments becomes (map|"\$)|` + // a map, or an expression for all of them
	`/run/workflow/input becomes |` + // input of any type
	`/authority becomes "\$|` + // an expression
	`/error(s/e)?/instance becomes "t|` + // any text
	`/any/0/with/time becomes "`) // a pattern, as for the other attributes (semantics 14.6)

const becomesNull = "becomes <nil>"

// engineFunction matches arguments of functions that the engine itself performs, of which the official schema knows nothing.
var engineFunction = regexp.MustCompile(`/call(Activity(Again)?|ContinueAsNew)(/|$)`)

// deliberate reports whether a difference is one of the written ones.
func deliberate(m mutation, ds dsl.Diagnostics) bool {
	if ds.Err() == nil {
		return lenient.MatchString(string(m.at) + " " + m.what)
	}
	if engineFunction.MatchString(string(m.at)) {
		return true
	}
	if m.what == becomesNull && strings.HasSuffix(string(m.at), "/schema/document") { // it is not a schema
		return true
	}
	if len(ds.Errors()) == 1 && ds.Errors()[0].Message == "an event to emit needs `with`" { // an event has a type
		return true
	}
	for _, d := range ds.Errors() { // stricter: empty text, names of variables, and no unknown properties anywhere
		if d.Code != "SW120" && d.Code != "SW130" && (d.Code != "SW106" || m.what != "gets a member") {
			return false
		}
	}
	return true
}

// beyondSchema reports whether all errors are such as a schema cannot express: names of variables and tasks, ranges of
// durations, URIs that are text otherwise, keys that stand twice.
func beyondSchema(ds dsl.Diagnostics) bool {
	for _, d := range ds.Errors() {
		if !slices.Contains([]string{"SW103", "SW120"}, d.Code) {
			return false
		}
	}
	return ds.Err() != nil
}

// mustSchema compiles a schema of ours.
func mustSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.CompileString("swrun.json", string(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

type mutation struct {
	at    dsl.Pointer
	what  string
	apply func(t *testing.T, document any) []byte
}

// place is where and what a mutation is, the same in all documents: properties, but no indices.
func (m mutation) place() string {
	tokens := slices.DeleteFunc(m.at.Tokens(), func(token string) bool { return strings.Trim(token, "0123456789") == "" })
	return strings.Join(tokens[max(0, len(tokens)-3):], "/") + " " + m.what
}

// mutations lists the changes of a value and of everything in it.
func mutations(v any, at dsl.Pointer) []mutation {
	var all []mutation
	if at != "" {
		for _, other := range []any{nil, true, 7, 2.5, "text", "", "${ .x }", []any{}, []any{"a"}, map[string]any{}, map[string]any{"a": 1}, map[string]any{"a": "b"}} {
			all = append(all, change(at, fmt.Sprintf("becomes %s", strings.ReplaceAll(fmt.Sprintf("%#v", other), "interface {}", "any")), func(any) (any, bool) { return other, true }))
		}
		all = append(all, change(at, "is removed", func(any) (any, bool) { return nil, false }))
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, mutations(v[key], at.Key(key))...)
		}
		all = append(all, change(at, "gets a member", func(old any) (any, bool) {
			m := maps.Clone(old.(map[string]any))
			m["surplus"] = "x"
			return m, true
		}))
	case []any:
		for i, item := range v {
			all = append(all, mutations(item, at.Index(i))...)
		}
	}
	return all
}

func change(at dsl.Pointer, what string, replace func(any) (any, bool)) mutation {
	return mutation{at: at, what: what, apply: func(t *testing.T, document any) []byte {
		t.Helper()
		changed, _ := replaced(document, at.Tokens(), replace)
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}}
}

// ReplaceRaw returns a copy of v in which what stands at the path is replaced, or removed.
func replaced(v any, path []string, replace func(any) (any, bool)) (any, bool) {
	if len(path) == 0 {
		return replace(v)
	}
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		if inner, ok := replaced(v[path[0]], path[1:], replace); ok {
			m[path[0]] = inner
		} else {
			delete(m, path[0])
		}
		return m, true
	case []any:
		list := slices.Clone(v)
		var i int
		_, _ = fmt.Sscan(path[0], &i) // an index by construction
		inner, ok := replaced(v[i], path[1:], replace)
		if !ok {
			return slices.Delete(list, i, i+1), true
		}
		list[i] = inner
		return list, true
	}
	return v, true
}

func mustDocument(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := dsl.Parse(file, text)
	return w.Source.Data("")
}

func mustJSON(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// mustOfficialSchema compiles the specification's schema; Go's patterns know no look-around, so those that have it
// are replaced by what means the same.
func mustOfficialSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("../../shared/spec/workflow.schema.yaml")
	if err != nil {
		t.Skip("the specification's schema is not beside the checkout (../shared/spec)")
	}
	var root any
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(withoutLookAround(root))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft, compiler.AssertFormat = jsonschema.Draft2020, true
	if err := compiler.AddResource("workflow.json", bytes.NewReader(encoded)); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("workflow.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func withoutLookAround(v any) any {
	switch v := v.(type) {
	case map[string]any:
		changed := map[string]any{}
		for key, inner := range v {
			changed[key] = withoutLookAround(inner)
		}
		pattern, _ := v["pattern"].(string)
		switch {
		case strings.HasPrefix(pattern, `^(?!\s*\$\{)(?=\S)`):
			changed["pattern"] = `^[^\s]` + `|^$.`
			changed["allOf"] = []any{map[string]any{"pattern": "^" + strings.TrimPrefix(pattern, `^(?!\s*\$\{)(?=\S)`)}}
			changed["not"] = map[string]any{"pattern": `^\s*\$\{`}
		case strings.HasPrefix(pattern, "^P(?!$)"):
			changed["pattern"] = strings.NewReplacer("(?!$)", "", `(?=\d)`, "").Replace(pattern)
			changed["not"] = map[string]any{"pattern": "[PT]$"}
		}
		return changed
	case []any:
		changed := make([]any, len(v))
		for i, inner := range v {
			changed[i] = withoutLookAround(inner)
		}
		return changed
	}
	return v
}
