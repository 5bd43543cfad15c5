package interpreter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

func nested(open, inside, end string, n int) string {
	return strings.Repeat(open, n) + inside + strings.Repeat(end, n)
}

// list writes n items; item takes the number.
func list(n int, item string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(item, "#", fmt.Sprint(i)))
	}
	return b.String()
}

func doubling(keyword string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"%s": [{"$ref": "#/definitions/d%d"}, {"$ref": "#/definitions/d%d"}]},`, i, keyword, i+1, i+1)
	}
	return fmt.Sprintf(`{"$ref": "#/definitions/d0", "definitions": {%s "d%d": {"type": "string"}}}`, b.String(), n)
}

// signs returns n different items that the validator considers similar: [1,1], [1,-1], [-1,1]...
func signs(bits int) string {
	var items []string
	for i := range 1 << bits {
		var item []string
		for bit := range bits {
			item = append(item, []string{"1", "-1"}[i>>bit&1])
		}
		items = append(items, "["+strings.Join(item, ",")+"]")
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestHostileSchemas(t *testing.T) {
	const tree = `{"type": ["array", "number"], "items": {"$ref": "#"}}`
	long := strings.Repeat("x", 4<<20)
	for _, c := range []struct{ name, schema, data, want string }{
		{"a huge exponent, too large", `{"maximum": 10}`, `1e9999999`, "does not fit its schema: must be <= 10"},
		{"a huge exponent, too small", `{"minimum": 10}`, `-1e9999999`, "does not fit its schema: must be >= 10"},
		{"a huge exponent, well", `{"minimum": 10, "type": "integer"}`, `1e9999999`, ""},
		{"an exponent beyond a machine word", `{"exclusiveMaximum": 10}`, `1e99999999999999999999`, "must be < 10"},
		{"a tiny number is above zero", `{"exclusiveMinimum": 0}`, `1e-9999999`, ""},
		{"a tiny number is not whole", `{"type": "integer"}`, `1e-9999999`, "expected integer, but got number"},
		{"nothing with a huge exponent", `{"const": 0, "type": "integer"}`, `0e-9999999`, ""},
		{"a huge number among items that are unique", `{"uniqueItems": true}`, `[1e9999999, 2]`, ""},
		{"a huge number in an enum", `{"enum": [1, "a"]}`, `1e9999999`, "value must be one of"},
		{"a huge number against a multiple", `{"multipleOf": 0.01}`, `1e9999999`, ""},
		{"a number of a million digits", `{"type": "integer"}`, strings.Repeat("9", 1_000_000), ""},
		{"a fraction of a million digits", `{"type": "integer"}`, "1." + strings.Repeat("0", 1_000_000) + "1", "expected integer"},
		{"a large exact number", `{"const": 123456789012345678901234567890}`, `123456789012345678901234567890`, ""},
		{"a deep tree", tree, nested("[", "1", "]", 9000), "nested deeper than 256 levels"},
		{"a tree that is not so deep", tree, nested("[", "1", "]", 200), ""},
		{"a tree with a fault", tree, nested("[", `"x"`, "]", 200), "expected array or number, but got string"},
		{"doubling allOf", doubling("allOf", 60), `"x"`, "takes more than"},
		{"doubling allOf that fails", doubling("allOf", 60), `1`, "takes more than"},
		{"doubling anyOf", doubling("anyOf", 60), `1`, "takes more than"},
		{"doubling oneOf", doubling("oneOf", 60), `1`, "takes more than"},
		{"doubling without end over deep data", `{"type": "array", "items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}`, nested("[", "", "]", 100), "takes more than"},
		{"many unique items", `{"uniqueItems": true}`, "[" + list(100_000, "#") + "]", ""},
		{"many unique objects", `{"uniqueItems": true}`, "[" + list(50_000, `{"id": #}`) + "]", ""},
		{"unique items that look alike", `{"uniqueItems": true}`, signs(14), "look alike"},
		{"an item twice", `{"uniqueItems": true}`, "[" + list(30, "#") + ",7]", "items at index 7 and 30 are equal"},
		{"a heavy pattern on a long text", `{"pattern": "^(a?){900}(b|c|d){90}$"}`, `"` + long + `"`, "too long for a pattern"},
		{"a light pattern on a long text", `{"pattern": "^x+$"}`, `"` + long + `"`, ""},
		{"heavy patterns for names", `{"patternProperties": {` + list(500, `"^(a#)?[a-z]{1,100}$": true`) + `}}`, "{" + list(50_000, `"name#": 1`) + "}", "too large for the patterns"},
		{"a pattern as data", `{"format": "regex"}`, `"` + strings.Repeat("(a{500})", 100_000) + `"`, "too long for a pattern"},
		{"a format of a long text", `{"format": "date-time"}`, `"` + long + `"`, "is not valid 'date-time'"},
		{"a large enum", `{"items": {"enum": [` + list(15_000, `"e#"`) + `]}}`, "[" + list(50_000, `"f#"`) + "]", "takes more than"},
		{"many values that do not fit", `{"items": {"type": "string"}}`, "[" + list(100_000, "#") + "]", "and 99990 more"},
		{"a very long name", `{"type": "object", "additionalProperties": {"items": {"type": "string"}}}`, `{"` + long + `": [` + list(20_000, `"x"`) + `]}`, "names are too long"},
		{"names that are not allowed", `{"additionalProperties": false}`, "{" + list(50_000, `"name#": 1`) + "}", "not allowed: 'name0', 'name1'"},
		{"more values than are checked", `true`, "[" + list(1_000_001, "1") + "]", "at most 1000000 are checked"},
		{"a dynamic reference", `{"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicAnchor": "a", "allOf": [{"items": {"$dynamicRef": "#a"}}, {"items": {"$dynamicRef": "#a"}}]}`, nested("[", "", "]", 100), "takes more than"},
		{"an ordinary large list", `{"items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer", "minimum": 0}, "name": {"type": "string"}}}}`,
			"[" + list(50_000, `{"id": #, "name": "n#"}`) + "]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			document, data := mustData(t, c.schema), mustData(t, c.data)
			s, err := newSchema(document, jsonschema.Draft7)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a validator that was stopped serves the next validation
				_, fault := s.validate("the input", data)
				expectFault(t, fault, c.want)
			}
		})
	}
}

func expectFault(t *testing.T, fault *errors.Error, want string) {
	t.Helper()
	switch {
	case want == "" && fault != nil:
		t.Errorf("got %.300v, want none", fault)
	case want != "" && fault == nil:
		t.Errorf("got none, want %s", want)
	case want != "" && (fault.Type != errors.Validation || !strings.Contains(fault.Detail, want) || len(fault.Detail) > 8000):
		t.Errorf("got %.300v, want a validation error with: %s", fault, want)
	case strings.Contains(want, "takes more than") && (fault.Extensions["limit"] != "schema work" || fault.Extensions["max"] != maxCheckedWork):
		t.Errorf("got the members %v, want limit and max", fault.Extensions)
	}
}

func TestUnusableSchemas(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"too deep", nested(`{"items": `, "true", "}", 200), "nested deeper than 100 levels"},
		{"too large", `{"enum": [` + list(30_000, "#") + `]}`, "more than 20000 values"},
		{"a huge bound", `{"minimum": 1e9999999}`, "a number with more than 300 digits"},
		{"a tiny divisor", `{"multipleOf": 1e-9999999}`, "a number with more than 300 digits"},
		{"a reference to itself", `{"$ref": "#"}`, "infinite loop"},
		{"references in a circle", `{"allOf": [{"$ref": "#/definitions/a"}], "definitions": {"a": {"anyOf": [{"$ref": "#/definitions/a"}]}}}`, "infinite loop"},
		{"a pattern too complex", `{"pattern": "` + strings.Repeat("(a{900})", 100) + `"}`, "instructions"},
		{"a pattern that looks ahead", `{"pattern": "(?=a)"}`, "/pattern: the pattern looks around by `(?=`, which is not supported: several patterns in `allOf`"},
		{"a pattern that looks behind", `{"properties": {"a": {"pattern": "(?<!a)b"}}}`, "/properties/a/pattern: the pattern looks around by `(?<!`"},
		{"a pattern that looks ahead in a name", `{"patternProperties": {"^(?!a)": true}}`, "is not valid 'regex'"},
		{"a pattern that refers back", `{"pattern": "(a)\\1"}`, "the pattern refers back by `\\1`"},
		{"a pattern that names a character", `{"pattern": "\\u00e9"}`, "write the character itself"},
		{"a pattern that does not end", `{"pattern": "(a"}`, "the pattern is no regular expression: missing closing ): \"(a\""},
		{"a length that is none", `{"minLength": -1}`, "must be >= 0"},
		{"a huge length", `{"minLength": 1e300}`, ""},
		{"another file", `{"$ref": "file:///etc/passwd"}`, "leaves the schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newSchema(mustData(t, c.schema), jsonschema.Draft7)
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %.300v, want: %s", err, c.want)
			}
		})
	}
}

func mustData(t *testing.T, text string) any {
	t.Helper()
	v, err := expr.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
