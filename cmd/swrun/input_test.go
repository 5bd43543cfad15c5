package main

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
)

func TestReadInput(t *testing.T) {
	yamlFile := mustWriteFile(t, "in.yaml", "a: {b: 1, d: 2026-01-02}\n1: one\n")
	jsonFile := mustWriteFile(t, "in.json", `{"a":{"c":12345678901234567890}}`)
	bomFile := mustWriteFile(t, "bom.json", "\ufeff{\"a\":1}")
	latinFile := mustWriteFile(t, "latin.json", "{\n\"big\":\"\xfc\"}")
	twiceFile := mustWriteFile(t, "twice.json", `{"a":1,"a":2}`)
	emptyFile := mustWriteFile(t, "empty.json", " \n")
	numbersFile := mustWriteFile(t, "numbers.yml", "a: [123456789012345678901234567890, 0.10, 1_000, 0777]\n0x10: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\n")
	for _, c := range []struct {
		name  string
		stdin string
		forms []string
		want  string // as JSON, or the start of the error
	}{
		{"nothing", "", nil, `null`},
		{"json", "", []string{`{"a":1}`}, `{"a":1}`},
		{"json that is not an object", "", []string{`[1,2]`}, `[1,2]`},
		{"text", "", []string{"a=1"}, `{"a":"1"}`},
		{"empty text", "", []string{"a="}, `{"a":""}`},
		{"text with an equals sign", "", []string{"a=b=c"}, `{"a":"b=c"}`},
		{"a json value", "", []string{"a:=[1,{}]"}, `{"a":[1,{}]}`},
		{"a yaml file", "", []string{"@" + yamlFile}, `{"1":"one","a":{"b":1,"d":"2026-01-02"}}`},
		{"deep merge", "", []string{"@" + yamlFile, "@" + jsonFile, `{"a":{"b":2}}`, "x=y"},
			`{"1":"one","a":{"b":2,"c":12345678901234567890,"d":"2026-01-02"},"x":"y"}`},
		{"the later list wins", "", []string{`{"a":[1]}`, `{"a":[2]}`}, `{"a":[2]}`},
		{"standard input", `{"a":1}`, []string{"-"}, `{"a":1}`},
		{"standard input as yaml", "a: 1\n", []string{"-"}, `{"a":1}`},
		{"a file that is not there", "", []string{"@nowhere.json"}, "the input cannot be read"},
		{"neither json nor name=value", "", []string{"{a"}, "-i {a is neither JSON nor name=value"},
		{"no json after :=", "", []string{"a:=x"}, "-i a:=x is not JSON"},
		{"a byte order mark", "\ufeff[1]", []string{"-"}, `[1]`},
		{"a byte order mark in a file", "", []string{"@" + bomFile}, `{"a":1}`},
		{"a member of a list", "", []string{"[1]", "b=2"}, "-i b=2: several values of -i are merged only if all of them are objects"},
		{"a list after an object", "", []string{"b=2", "[1]"}, "-i [1]: several values of -i are merged only if all of them are objects"},
		{"numbers of yaml", "", []string{"@" + numbersFile},
			`{"0x10":{"b":1,"c":2},"a":[123456789012345678901234567890,0.1,"1_000",777],"d":{"b":3,"c":2}}`},
		{"a surrogate pair in yaml", `a: "\ud83d\ude00"`, []string{"-"}, `{"a":"😀"}`},
		{"Latin-1", "", []string{"{\"big\":\"\xfc\"}"}, `-i {"big":"\xfc"} is neither JSON nor name=value: line 1, column 9: the byte 0xfc is not UTF-8`},
		{"Latin-1 in a file", "", []string{"@" + latinFile}, latinFile + " is not a valid input: line 2, column 8: the byte 0xfc is not UTF-8"},
		{"Latin-1 in yaml", "a: \xfc", []string{"-"}, "standard input is not a valid input: line 1, column 4: the byte 0xfc is not UTF-8"},
		{"Latin-1 in text", "", []string{"big=\xfc"}, `-i big=\xfc cannot be used: line 1, column 5: the byte 0xfc is not UTF-8`},
		{"Latin-1 after :=", "", []string{"big:=\"\xfc\""}, `-i big:="\xfc" is not JSON after :=: line 1, column 2: the byte 0xfc is not UTF-8`},
		{"half a character", "", []string{`{"a":"\ud800"}`}, `-i {"a":"\ud800"} is neither JSON nor name=value: line 1, column 7: \ud800 is half of a character`},
		{"half a character in yaml", `a: "\ud800"`, []string{"-"}, "standard input is not a valid input: yaml: found invalid Unicode"},
		{"a name twice", "", []string{"@" + twiceFile}, twiceFile + ` is not a valid input: line 1, column 8: the name "a" stands twice in one object`},
		{"a name twice in standard input", `{"a":1,"a":2}`, []string{"-"}, "standard input is not a valid input: line 1, column 8: the name"},
		{"a key twice in yaml", "1: a\n\"1\": b\n", []string{"-"}, `standard input is not a valid input: line 2: the key "1" occurs twice in one object`},
		{"a key that is no text", "? [a]\n: b\n", []string{"-"}, "standard input is not a valid input: line 1: a key must be text"},
		{"a tag", "a: !!binary aGk=\n", []string{"-"}, "standard input is not a valid input: line 1: the tag !!binary is not allowed"},
		{"no number in json", "a: [.inf]\n", []string{"-"}, "standard input is not a valid input: line 1: .inf is not a number in JSON"},
		{"a long octal number", "a: 0o" + strings.Repeat("7", 3_000_000), []string{"-"}, "standard input is not a valid input: line 1: 0o77777777777777777777777777777777777777… is too long for a hexadecimal or octal number; write it with decimal digits"},
		{"no number in braces", `{"a":NaN}`, []string{"-"}, "standard input is not a valid input: line 1: JSON has no number NaN: write null, or \"NaN\" for the text"},
		{"no number in brackets", "[1,\n{\"a\":-Infinity}]", []string{"-"}, "standard input is not a valid input: line 2: JSON has no number -Infinity: write null"},
		{"an alias in itself", "a: &a [*a]\n", []string{"-"}, "standard input is not a valid input: yaml: anchor 'a' value contains itself"},
		{"empty standard input", "", []string{"-"}, "standard input is not a valid input: it is empty"},
		{"an empty file", "", []string{"@" + emptyFile}, emptyFile + " is not a valid input: it is empty"},
		{"only a comment", "# nothing\n", []string{"-"}, "standard input is not a valid input: it is empty"},
		{"a name that is not allowed", "", []string{"ü=3"}, "-i ü=3: a name before = begins with a letter"},
		{"a number as name", "", []string{"1=2"}, "-i 1=2: a name before = begins with a letter"},
		{"a name with a space", "", []string{"first name:=1"}, "-i first name:=1: a name before = begins with a letter"},
		{"json that is wrong, with =", "", []string{`{"a": "b=c"`}, `-i {"a": "b=c" is neither JSON nor name=value: line 1, column 12`},
		{"a whole character", "", []string{"ü"}, "-i ü is neither JSON nor name=value: line 1, column 1: invalid JSON: invalid character 'ü'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := readInput(streams{in: strings.NewReader(c.stdin)}, c.forms, nil)
			if err != nil {
				if !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("got the error %q, want %q", err, c.want)
				}
				return
			}
			var b strings.Builder
			if err := api.Write(&b, v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want+"\n", b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStdinThatIsATerminalIsRefused(t *testing.T) {
	_, err := readInput(streams{in: strings.NewReader(""), inTTY: true}, []string{"-"}, nil)
	if err == nil || err.(*exitError).code != exitUsage {
		t.Errorf("got %v, want a usage error", err)
	}
}

func TestSecrets(t *testing.T) {
	file := mustWriteFile(t, "secrets.yaml", "both: from file\npin: 123456\n")
	env := map[string]string{
		"SWRUN_SECRET_both": "from env", "SWRUN_SECRET_API_KEY": "k-1/2+3", "SWRUN_SECRET_db": `{"user":"u","password":"p\"w-rd"}`,
	}
	s, err := readSecrets(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want any
	}{
		{"both", "from file"},
		{"pin", 123456},
		{"api-key", "k-1/2+3"},
		{"db", map[string]any{"user": "u", "password": `p"w-rd`}},
		{"unknown", nil},
	} {
		got, ok := s.Lookup(c.name)
		if ok != (c.want != nil) {
			t.Errorf("%s: found %v", c.name, ok)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	mask := newMask(s, usingSecrets("api-key", "db"), false)
	for _, c := range []struct{ name, text, want string }{
		{"as it is", "key k-1/2+3.", "key ‹redacted: api-key›."},
		{"base64", "Basic ay0xLzIrMw==", "Basic ‹redacted: api-key›"},
		{"as the password of basic authentication", "Basic " + base64.StdEncoding.EncodeToString([]byte("me:k-1/2+3")), "Basic bWU6‹redacted: api-key›"},
		{"as the password of another user", "Basic " + base64.StdEncoding.EncodeToString([]byte("you:k-1/2+3")), "Basic eW91Om‹redacted: api-key›M="},
		{"in a URL", "?k=k-1%2F2%2B3", "?k=‹redacted: api-key›"},
		{"in JSON", `{"p":"p\"w-rd"}`, `{"p":"‹redacted: db›"}`},
		{"too short to hide", "u", "u"},
		{"of the file, without being declared", "pin 123456", "pin ‹redacted: pin›"},
	} {
		if got := mask.Text(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	masked := mask.Value(map[string]any{"a": []any{123456, "x k-1/2+3"}, "n": 1})
	if diff := cmp.Diff(map[string]any{"a": []any{"‹redacted: pin›", "x ‹redacted: api-key›"}, "n": 1}, masked); diff != "" {
		t.Error(diff)
	}
}

// TestOddSecrets: secrets in unusual forms, and values that are not secrets.
func TestOddSecrets(t *testing.T) {
	file := mustWriteFile(t, "secrets.yaml", "both: \nblank: ''\nlist: [a]\nyes: true\n'': x\n")
	env := map[string]string{
		"both": "without the prefix", "SWRUN_SECRET_BOTH": "not null", "SWRUN_SECRET_EMPTY": "", "SWRUN_SECRET_SPACES": " \n", "SWRUN_SECRET_": "no name",
		"SWRUN_SECRET_A_B": "usual", "SWRUN_SECRET_a.b": "exact", "SWRUN_SECRET_exact": "", "SWRUN_SECRET_EXACT": "usual", "SWRUN_SECRET____": "three lines",
		"SWRUN_SECRET_ключ": "key", "SWRUN_SECRET_BROKEN": `{"a": 1,}`, "SWRUN_SECRET_BRACE": "{token", "SWRUN_SECRET_LINES": "a\nb\n", "SWRUN_SECRET_NULL": "null",
		"SWRUN_SECRET_NUL": `{"a": "x\u0000y"}`, "SWRUN_SECRET_OBJECT": " {\"a\": 1}\n", "SWRUN_SECRET_HUGE": strings.Repeat("x", 1<<17), "SWRUN_SECRET_TRUE": "true",
	}
	s, err := readSecrets(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, file)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"both": "not null", "blank": "", "list": []any{"a"}, "yes": true, "": "x", "empty": nil, "spaces": nil, "a-b": "usual", "a.b": "exact", "A_B": "usual",
		"a b": "usual", "exact": "usual", "ключ": "key", "сло": nil, "---": "three lines", "broken": `{"a": 1,}`, "brace": "{token", "lines": "a\nb\n",
		"null": "null", "nul": map[string]any{"a": "x\x00y"}, "object": map[string]any{"a": 1}, "huge": strings.Repeat("x", 1<<17), "true": "true",
	} {
		if got, ok := s.Lookup(name); ok != (want != nil) || cmp.Diff(want, got) != "" {
			t.Errorf("%q is %v, %.80v", name, ok, got)
		}
	}
	for _, text := range []string{"", "[a]", "text", "a: b: c", "a: 1\na: 2", "\x00", "a: " + strings.Repeat("x", maxSecrets)} {
		_, err := readSecrets(nil, mustWriteFile(t, "odd.yaml", text))
		if wrong, ok := err.(*exitError); !ok || wrong.code != exitUsage && wrong.code != exitInput {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
}

func TestASecretIsHiddenBeforeTextIsShortened(t *testing.T) {
	s := swrun.NewSecrets(nil, func(name string) (string, bool) { return "s3cr/t+value", name == "SWRUN_SECRET_token" })
	const shownDetail = 2100
	fault := errors.Runtimef("%ss3cr/t+value", strings.Repeat("x", shownDetail-6)).With("at", []any{"s3cr/t+value"})
	fault = newMask(s, usingSecrets("token"), false).fault(fault)
	if got := shorten.To(fault.Detail, shownDetail); strings.Contains(got, "s3c") {
		t.Errorf("a part of the secret is left: %s", got[len(got)-20:])
	}
	if diff := cmp.Diff([]any{"‹redacted: token›"}, fault.Extensions["at"]); diff != "" {
		t.Error(diff)
	}
}

func TestMaskedOutputIsStillJSON(t *testing.T) {
	env := map[string]string{"SWRUN_SECRET_pin": "[1234567]"}
	s := swrun.NewSecrets(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	mask := newMask(s, usingSecrets("pin"), false)
	var b strings.Builder
	if err := writeOutput(&b, mask.Value(map[string]any{"pin": 1234567}), "json"); err != nil {
		t.Fatal(err)
	}
	if want := `{"pin":"‹redacted: pin›"}` + "\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

// TestPanicsHideSecrets: a panic is reported without secrets.
func TestPanicsHideSecrets(t *testing.T) {
	c := capture(map[string]string{"SWRUN_SECRET_TOKEN": "s3cr/t+value"})
	c.now = func() time.Time { panic(map[string]string{"tried": "s3cr/t+value", "and": "in the file"}) }
	document := mustWriteFile(t, "a.yaml", "document: {dsl: 1.0.3, namespace: demo, name: a, version: 0.1.0}\nuse: {secrets: [token]}\n"+
		"do: [{a: {raise: {error: {type: \"https://x.test\", status: 500}}}}]\n")
	code := run([]string{"run", document, "--secrets", mustWriteFile(t, "s.yaml", "other: in the file\n"), "--progress", "lines"}, c.streams)
	if code != exitInternal || !strings.Contains(c.stderr.String(), "map[and:‹redacted: other› tried:‹redacted: token›]") {
		t.Errorf("exit %d: %s", code, c.stderr.String())
	}
}

// usingSecrets returns a workflow that declares secrets.
func usingSecrets(names ...string) *dsl.Workflow {
	w, _ := dsl.Parse("w.yaml", []byte("use: {secrets: ["+strings.Join(names, ", ")+"]}")) // other mistakes do not matter
	return w
}

func TestExpressionsThatAreNotUTF8AreRefused(t *testing.T) {
	_, err := compileQuery("--jq", "\"\xfc\"", time.Now)
	if err == nil || err.Error() != "--jq is not a valid expression: line 1, column 2: the byte 0xfc is not UTF-8" {
		t.Errorf("got %v", err)
	}
}
