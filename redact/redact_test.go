package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

const pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n"

func set() *Set {
	return New(map[string]any{
		"api": "s3cr/t+va\"lue", "db": map[string]any{"user": "pg", "password": "pä55 w<o>rd'&"}, "pin": 123456, "big": "12345678901234567890",
		"bytes": "by\xfftes\xfe\xfd", "key": pem, "longer": "s3cr/t+va\"lue and more", "odd name!": "odd value", "odd name?": "other value", "empty": "", "zero": nil,
	}, true)
}

func TestWhatASecretMayLookLike(t *testing.T) {
	s := set()
	const api = "s3cr/t+va\"lue"
	for name, text := range map[string]string{
		"raw": api, "in JSON": `{"a":"s3cr/t+va\"lue"}`, "in JSON in JSON": `{\"a\":\"s3cr/t+va\\\"lue\"}`,
		"in a query": "s3cr%2Ft%2Bva%22lue", "in upper case": strings.ToUpper(api), "in hex": hex.EncodeToString([]byte(api)),
		"base64": base64.StdEncoding.EncodeToString([]byte(api)), "base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(api)),
		"basic":          base64.StdEncoding.EncodeToString([]byte("me:" + api)),
		"basic of three": base64.StdEncoding.EncodeToString([]byte("ada:" + api)), "in HTML": "va&#34;lue s3cr/t+va&#34;lue",
	} {
		if got := s.Text("<" + text + ">"); !strings.Contains(got, "redacted: api›") || strings.Contains(got, "s3cr") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestWhatURLsMakeOfASecret: languages differ in which characters they escape.
func TestWhatURLsMakeOfASecret(t *testing.T) {
	s := New(map[string]any{"api": "wo!rd/(a)'b*#c d@é"}, true)
	for name, text := range map[string]string{
		"Go, in a query":                 "wo%21rd%2F%28a%29%27b%2A%23c+d%40%C3%A9",
		"Go, in a path":                  "wo%21rd%2F%28a%29%27b%2A%23c%20d@%C3%A9",
		"Java":                           "wo%21rd%2F%28a%29%27b*%23c+d%40%C3%A9",
		"jq's @uri":                      "wo%21rd%2F%28a%29%27b%2A%23c%20d%40%C3%A9",
		"encodeURIComponent":             "wo!rd%2F(a)'b*%23c%20d%40%C3%A9",
		"encodeURI":                      "wo!rd/(a)'b*#c%20d@%C3%A9",
		"Python's quote":                 "wo%21rd/%28a%29%27b%2A%23c%20d%40%C3%A9",
		"in lower case, as .NET does it": "wo%21rd%2f%28a%29%27b%2a%23c+d%40%c3%a9",
	} {
		if got := s.Text("<" + text + ">"); got != "<‹redacted: api›>" {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestFormatsOfJQ: a secret is found in the output of every format of jq.
func TestFormatsOfJQ(t *testing.T) {
	const secret = "a<'b\"c>&d\\e\tf é"
	s := New(map[string]any{"api": secret}, true)
	for _, format := range []string{"@text", "@json", "@html", "@uri", "@sh", "@base64", "[.] | @csv", "[.] | @tsv", "tojson | tojson", "ascii_upcase", "ascii_downcase",
		"\"user:\" + . | @base64"} {
		code, err := expr.Compile(format)
		if err != nil {
			t.Fatal(err)
		}
		v, err := code.Eval(nil, secret)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Text(v.(string)); !strings.Contains(got, "‹redacted: api›") {
			t.Errorf("%s: %s", format, got)
		}
	}
	for _, text := range []string{"a&lt;&#x27;b&quot;c&gt;&amp;d\\e\tf é", `a<'b\"c>&d\\e\tf \u00e9`} { // of Python
		if got := s.Text(text); got != "‹redacted: api›" {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		name      string
		data, out any
	}{
		{"the longer of two that contain each other", `s3cr/t+va"lue and more`, "‹redacted: longer›"},
		{"a number", 123456, "‹redacted: pin›"},
		{"a number of another type", 123456.0, "‹redacted: pin›"},
		{"another number", 1234567, 1234567},
		{"bytes that are no text", "a by\xfftes\xfe\xfd, by\ufffdtes\ufffd\ufffd z", "a ‹redacted: bytes›, ‹redacted: bytes› z"},
		{"a line of a key", "bad line MIIEvQIBADANBgkq", "bad line ‹redacted: key›"},
		{"a line that every key has", "-----BEGIN KEY-----", "-----BEGIN KEY-----"},
		{"a short secret that is the whole value", "pg", "‹redacted: db›"},
		{"a short secret inside of text", "pgsql", "pgsql"},
		{"names that are hidden alike", map[string]any{"odd value": 1, "other value": 2, "x": 3}, map[string]any{"‹redacted: secret›": 1, "‹redacted: secret› 2": 2, "x": 3}},
		{"a short secret as a name", map[string]any{"pg": 1}, map[string]any{"pg": 1}},
		{"a name of a member", map[string]any{"odd value": 1}, map[string]any{"‹redacted: secret›": 1}},
		{"deep inside", []any{map[string]any{"a": []any{123456}}}, []any{map[string]any{"a": []any{"‹redacted: pin›"}}}},
		{"nothing", []any{"", nil, true, 1.5, map[string]any{}}, []any{"", nil, true, 1.5, map[string]any{}}},
	} {
		if diff := cmp.Diff(c.out, set().Value(c.data)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestWhatIsSealedIsOpened(t *testing.T) {
	s := set()
	for _, v := range []any{
		`s3cr/t+va"lue`, "a s3cr/t+va\"lue and more b", 123456, pem, "pg", "pä55 w<o>rd'&", "P%C3%A455+w%3Co%3Erd%27%26", "odd value", "other value",
		"‹redacted: api›", "‹redacted : api›", "‹redacted›‹redacted", "‹‹redacted: pin, number›", base64.StdEncoding.EncodeToString([]byte("x:odd value")),
		map[string]any{"odd value": []any{"other value", 1, "MIIEvQIBADANBgkq"}, "‹redacted: api›": nil},
	} {
		sealed := s.Seal(v)
		if text := fmt.Sprint(sealed); strings.Contains(text, "s3cr") || strings.Contains(text, "123456") || strings.Contains(text, "MII") || strings.Contains(text, " value") {
			t.Errorf("%v is sealed as %s", v, text)
		}
		if diff := cmp.Diff(v, s.Open(sealed)); diff != "" {
			t.Errorf("%v comes back otherwise: %s", v, diff)
		}
	}
}

// TestNoReferenceIsForged: an owner that does not know the secret stores data that looks like a reference, and an owner that knows the secret opens
// the data unchanged.
func TestNoReferenceIsForged(t *testing.T) {
	without, with := New(map[string]any{}, false), New(map[string]any{"api": "s3cret"}, true)
	stored := without.Seal(without.EscapeReferences("‹redacted: api›"))
	if got := with.Open(stored); got != "‹redacted: api›" {
		t.Errorf("it became %v", got)
	}
	kept := without.Seal(without.Open(with.Seal("Bearer s3cret")))
	if got := with.Open(kept); got != "Bearer s3cret" {
		t.Errorf("a reference became %v", got)
	}
}

func TestErrorsThatWereCut(t *testing.T) {
	s := New(map[string]any{"token": "abcdefghijklmnopqrstuvwxyz0123456789"}, true)
	for detail, want := range map[string]string{
		`cannot use: string ("abcdefghijklmnopqr...)`: `cannot use: string ("‹redacted›...)`,
		`cannot use "abcdefghijklmnopqr ..."`:         `cannot use "‹redacted› ..."`,
		"the token is abcdefghij…":                    "the token is ‹redacted›…",
		"the token is abcdefghij":                     "the token is ‹redacted›",
		"…wxyz0123456789 was refused":                 "…‹redacted› was refused",
		"uvwxyz0123456789 was refused":                "‹redacted› was refused",
		"abc is nothing":                              "abc is nothing",
	} {
		e := s.Error(errors.Runtimef("%s", detail).With("x", []any{detail}))
		if e.Detail != want || e.Extensions["x"].([]any)[0] != want {
			t.Errorf("%s became %s and %v", detail, e.Detail, e.Extensions)
		}
	}
}

// TestPartsOfALongSecret: libraries quote twenty or five hundred characters of a key that has thousands.
func TestPartsOfALongSecret(t *testing.T) {
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "k%dQ", i*7919)
	}
	s := New(map[string]any{"key": long.String()}, true)
	for _, n := range []int{8, 20, 100, 500, 4000} {
		for _, detail := range []string{"no number: " + long.String()[:n] + " ...", "is " + long.String()[:n], long.String()[long.Len()-n:] + " is not"} {
			if got := s.Error(errors.Runtimef("%s", detail)).Detail; !strings.Contains(got, "‹redacted›") || strings.Contains(got, long.String()[:n]) {
				t.Errorf("%d characters are shown: %.80s", n, got)
			}
		}
	}
}

func TestANilSetHidesNothing(t *testing.T) {
	var s *Set
	e := errors.Runtimef("x")
	if s.Text("a") != "a" || s.Value(1) != 1 || s.Seal("a") != "a" || s.Open("a") != "a" || s.Error(e) != e || s.FindSecret("a", nil) != "" {
		t.Error("it changes something")
	}
}

func TestWhatDataHolds(t *testing.T) {
	s := set()
	public := func(text string) bool { return strings.HasSuffix(text, "known") }
	for _, c := range []struct {
		data any
		want string
	}{{"x odd value", "secret"}, {map[string]any{"a": 123456}, "pin"}, {"pg", ""}, {map[string]any{"odd value": 1}, "secret"}, {"none", ""},
		{map[string]any{"odd value, known": "x odd value, known"}, ""}, {map[string]any{"n": "odd value, known", "odd value": 1}, "secret"}} {
		if got := s.FindSecret(c.data, public); got != c.want {
			t.Errorf("%v holds %q", c.data, got)
		}
	}
}

// TestReferencesDoNotDependOnOtherSecrets: data that one set sealed is opened by another set as the same secret or not at all.
func TestReferencesDoNotDependOnOtherSecrets(t *testing.T) {
	one := New(map[string]any{"odd name": "the value of one"}, true)
	two := New(map[string]any{"a name": "the value of another one", "odd name": "the value of one", "plain": "something else"}, true)
	none := New(map[string]any{"a name": "the value of another one"}, true)
	sealed := one.Seal("see the value of one")
	if two.Open(sealed) != "see the value of one" || none.Open(sealed) != sealed {
		t.Errorf("%v: %v, %v", sealed, two.Open(sealed), none.Open(sealed))
	}
}

func TestUndeclared(t *testing.T) {
	s := New(map[string]any{"odd name": "the value of one", "db": map[string]any{"user": "somebody"}, "db2": "another value"}, true)
	for _, c := range []struct {
		data  string
		names []string
		want  string
	}{
		{"nothing", nil, ""}, {"‹redacted: db›", nil, ""}, {"the value of one", []string{"odd name"}, ""}, {"the value of one", []string{"db"}, "secret"},
		{"somebody", []string{"db"}, ""}, {"somebody", []string{"d", "db2"}, "db.user"}, {"somebody, another value", []string{"db"}, "db2"},
		{"c29tZWJvZHk=", []string{"db2"}, "db.user"}, {"somebody", []string{"", "db.user"}, ""},
	} {
		data, err := json.Marshal(s.Seal(c.data))
		if err != nil {
			t.Fatal(err)
		}
		if got := Undeclared(data, c.names); got != c.want {
			t.Errorf("%s, declared %q: %q instead of %q", data, c.names, got, c.want)
		}
	}
}
