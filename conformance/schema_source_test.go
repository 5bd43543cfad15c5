package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"
)

// officialFolder contains the specification's schema and examples, beside the checkout.
const officialFolder = "../../shared/spec"

var (
	coreInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	coreBased = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	coreFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// plain converts a YAML node into JSON by the core schema of YAML 1.2: keys are text, and so are dates and words such as yes and on. Of two equal
// keys the later one counts.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(n.Content[0])
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, plain(item))
		}
		return list
	}
	if n.Style != 0 { // quoted, literal, folded
		return n.Value
	}
	return plainScalar(n.Value)
}

func plainScalar(text string) any {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	switch {
	case coreInt.MatchString(text), coreBased.MatchString(text):
		base := 10
		if coreBased.MatchString(text) {
			base = 0
		}
		if whole, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), base); ok {
			return json.Number(whole.String())
		}
	case coreFloat.MatchString(text):
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return text
}

// TestPlainReadsYAML12: the schemas receive the values that the core schema of YAML 1.2 reads.
func TestPlainReadsYAML12(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a date is text", "v: 2026-01-01", `{"v":"2026-01-01"}`},
		{"a time of day is text", "v: 07:25:00", `{"v":"07:25:00"}`},
		{"yes is text", "v: yes", `{"v":"yes"}`},
		{"the key on is text", "on: on", `{"on":"on"}`},
		{"a key that is a number is text", "1: 2", `{"1":2}`},
		{"a leading zero is decimal", "v: 017", `{"v":17}`},
		{"0o17 is octal", "v: 0o17", `{"v":15}`},
		{"a number in quotes is text", "v: '1.0'", `{"v":"1.0"}`},
		{"an absent value is null", "v:", `{"v":null}`},
		{"a long number keeps its digits", "v: 12345678901234567890", `{"v":12345678901234567890}`},
		{"a version is text", "v: 1.0.3", `{"v":"1.0.3"}`},
		{"a whole float is a number", "v: 2.0", `{"v":2}`},
		{"a block of text keeps its line break", "v: |\n  x\n", `{"v":"x\n"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(plain(mustNode(t, []byte(c.text))))
			if err != nil || string(got) != c.want {
				t.Errorf("got %s, want %s (%v)", got, c.want, err)
			}
		})
	}
}

func mustNode(t *testing.T, text []byte) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return &n
}

// mustOfficial compiles the specification's schema, or skips the test if it is not beside the checkout.
func mustOfficial(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(officialFolder + "/workflow.schema.yaml")
	if err != nil {
		t.Skipf("the specification's schema is not beside the checkout: %v", err)
	}
	rewritten := 0
	encoded, err := json.Marshal(withoutLooks(plain(mustNode(t, text)), &rewritten))
	if err != nil {
		t.Fatal(err)
	}
	if rewritten != 3 {
		t.Fatalf("%d patterns with lookaheads were rewritten, want 3: the specification's schema has changed", rewritten)
	}
	return mustSchema(t, encoded)
}

// mustSchema compiles a schema without external references; formats count.
func mustSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat = true
	compiler.LoadURL = func(url string) (io.ReadCloser, error) { return nil, fmt.Errorf("%s is outside", url) }
	if err := compiler.AddResource("mem:schema", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("mem:schema")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// withoutLooks rewrites the three patterns of the official schema that look ahead, which Go's patterns cannot, into
// combinations that accept the same texts.
func withoutLooks(v any, rewritten *int) any {
	switch v := v.(type) {
	case map[string]any:
		changed := map[string]any{}
		for key, inner := range v {
			changed[key] = withoutLooks(inner, rewritten)
		}
		pattern, _ := v["pattern"].(string)
		const notExpression = `^(?!\s*\$\{)(?=\S)`
		switch {
		case strings.HasPrefix(pattern, notExpression): // no expression, and no white space at the beginning
			*rewritten++
			changed["pattern"] = "^" + strings.TrimPrefix(pattern, notExpression)
			changed["allOf"] = []any{map[string]any{"pattern": `^\S`}}
			changed["not"] = map[string]any{"pattern": `^\s*\$\{`}
		case strings.Contains(pattern, "(?!$)"): // a duration: something after P, and after T
			*rewritten++
			changed["pattern"] = strings.NewReplacer("(?!$)", "", `(?=\d)`, "").Replace(pattern)
			changed["not"] = map[string]any{"pattern": `^P$|T$`}
		}
		return changed
	case []any:
		changed := make([]any, len(v))
		for i, inner := range v {
			changed[i] = withoutLooks(inner, rewritten)
		}
		return changed
	}
	return v
}
