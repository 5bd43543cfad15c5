package dsl_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/pacetest"
)

// TestHostileDocuments parses texts that are made to exhaust or to break a parser (reliability B1-B12): each gets a
// typed diagnostic, soon.
func TestHostileDocuments(t *testing.T) {
	const head = "document: { dsl: 1.0.3, namespace: test, name: bad, version: 1.0.0 }\ndo:\n"
	for _, c := range []struct{ name, text, code string }{
		{"aliases of aliases", bomb(), "SW104"},
		{"many aliases of a long text", "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]", "SW104"},
		{"an alias of itself", "&a [*a]", "SW104"},
		{"an old crash of the YAML library", "0: [:!00 \xef", "SW105"},
		{"another old crash", "0: [:!00 x", "SW101"},
		{"two colons", "0::", "SW116"},
		{"a merge without a value", "{{},<<}", "SW108"},
		{"deep brackets", strings.Repeat("[", 100_000), "SW104"},
		{"deep closed brackets", strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "SW104"},
		{"deep braces", strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000), "SW104"},
		{"deep JSON", strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000), "SW104"},
		{"deep JSON with siblings", strings.Repeat(`{"b":[1,{"c":2}],"a":`, 70) + `{"x":[1,2,{"y":3}],"z":4}` + strings.Repeat("}", 70), "SW104"},
		{"deep indentation", indented(500), "SW104"},
		{"many values", head + "  - a: { set: { x: [" + strings.Repeat("1,", 30_000) + "] } }", "SW104"},
		{"a repeated key", head + "  - a: { call: f, call: g }", "SW103"},
		{"9,000 keys", head + "  - a: { set: {" + manyKeys(9000) + "} }", "SW103"},
		{"JSON in one long line", "{" + strings.Repeat(`"a":1,`, 40_000) + `"a":1}`, "SW104"},
		{"mistakes in one long line", head + "  [" + strings.Repeat("{ä: {sett: 1}},", 3_900) + "]", "SW115"},
		{"mistakes in one long line of JSON", `{"do":[` + strings.Repeat(`{"ä": {"sett": 1}},`, 3_900) + `{}]}`, "SW115"},
		{"two documents", head + "---\nb: 1", "SW102"},
		{"5 MiB of comments", strings.Repeat("# comment\n", 500_000), "SW104"},
		{"a key of 1 MiB", strings.Repeat("k", 1<<20) + ": 1", "SW104"},
		{"a NUL", head + "  - a: { set: { x: \"\x00\" } }", "SW105"},
		{"a byte order mark in the middle", "\xef\xbb\xbf" + head + "  [\xef\xbb\xbf]", "SW105"},
		{"UTF-16", "\xff\xfed\x00o\x00", "SW105"},
		{"a line separator", head + "  - a: { set: { x: '\u2028' } }", "SW105"},
		{"a carriage return alone", head + "  - a: { wait: PT1S }\r  - b: { wait: PT1S }", "SW105"},
		{"text from right to left", head + "  - a: { set: { x: '\u202e' } }", "SW105"},
		{"infinity", head + "  - a: { set: { x: .inf } }", "SW108"},
		{"a long hexadecimal number", head + "  - a: { set: { x: 0x" + strings.Repeat("f", 999) + " } }", "SW108"},
		{"a long octal number", head + "  - a: { set: { x: 0o" + strings.Repeat("7", 200_000) + " } }", "SW108"},
		{"a brace as namespace", "document: { dsl: 1.0.3, namespace: '{x}', name: a, version: 1.0.0 }\ndo: []", "SW112"},
		{"dots as name", "document: { dsl: 1.0.3, namespace: a, name: .., version: 1.0.0 }\ndo: []", "SW112"},
		{"a line break in a name", "document: { dsl: 1.0.3, namespace: a, name: \"b\\n\", version: 1.0.0 }\ndo: []", "SW112"},
		{"a name of 300 characters", "document: { dsl: 1.0.3, namespace: a, name: " + strings.Repeat("b", 300) + ", version: 1.0.0 }\ndo: []", "SW112"},
		{"a task name of 300 characters", head + "  - " + strings.Repeat("b", 300) + ": { wait: PT1S }", "SW120"},
		{"a task name with a line break", head + "  - \"a\\nb\": { wait: PT1S }", "SW120"},
		{"an empty task name", head + "  - '': { wait: PT1S }", "SW120"},
		{"nothing", "", "SW101"},
		{"white space", " \n\n", "SW101"},
		{"null", "null", "SW108"},
		{"half of a JSON document", `{"document": {`, "SW101"},
	} {
		t.Run(c.name, func(t *testing.T) {
			started := time.Now()
			w, found := dsl.Parse("hostile.yaml", []byte(c.text))
			if took := time.Since(started); took > pacetest.Patience { // only finds a hang, and does not measure speed
				t.Errorf("took %v", took)
			}
			if w == nil || found.Err() == nil || !strings.Contains(fmt.Sprint(codes(found)), c.code) {
				t.Fatalf("want %s, got %v", c.code, codes(found))
			}
		})
	}
}

func codes(ds dsl.Diagnostics) []string {
	var all []string
	for _, d := range ds[:min(len(ds), 20)] {
		all = append(all, d.Code+" "+d.Message)
	}
	return all
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return b.String()
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1, ", i)
	}
	return b.String() + "k5: 2"
}

// TestHugeNumbersKeepTheirDigits: a number that fits neither an int nor a float64 keeps its digits.
func TestHugeNumbersKeepTheirDigits(t *testing.T) {
	w, _ := dsl.Parse("numbers.yaml", []byte("a: 1e999999\nb: "+strings.Repeat("9", 400)+"\nc: 9007199254740993\nd: 0.1\ne: 3.141592653589793238462643\nf: 0x1F\ng: 0o17\nh: +5\ni: .5\nj: 1.\nk: 017\nl: -0.0\nm: 1e3\nn: 18446744073709551615\no: 1_000\n"))
	got := fmt.Sprintf("%#v", w.Source.Data(""))
	want := `map[string]interface {}{"a":"1e999999", "b":"` + strings.Repeat("9", 400) + `", "c":9007199254740993, "d":0.1, "e":"3.141592653589793238462643", "f":31, "g":15, "h":5, "i":0.5, "j":1, "k":17, "l":-0, "m":1000, "n":"18446744073709551615", "o":"1_000"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
