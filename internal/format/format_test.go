package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
)

func TestFormatIsIdempotent(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		once, err := Document(file, text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		twice, err := Document(file, once)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if diff := cmp.Diff(string(once), string(twice)); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"indentation", "a:\n    b:\n    - c\n", "a:\n  b:\n    - c\n"},
		{"comments", "# head\na: 1 # line\n# foot\n", "# head\na: 1 # line\n# foot\n"},
		{"empty lines between keys stay, one of each", "a: 1\n\n\nb: 2\n", "a: 1\n\nb: 2\n"},
		{"an empty line above a comment", "a: 1\n\n# about b\nb: 2\n", "a: 1\n\n# about b\nb: 2\n"},
		{"quotes and flow style", "a: {b: \"c\", d: 'e'}\n", "a: {b: \"c\", d: 'e'}\n"},
		{"block scalars with empty lines", "a: |\n    x\n\n\n    y\nb: >-\n    z\n", "a: |\n  x\n\n\n  y\nb: >-\n  z\n"},
		{"windows line ends", "a: 1\r\nb: 2\r\n", "a: 1\nb: 2\n"},
		{"anchors", "a: &x {b: 1}\nc: *x\n", "a: &x {b: 1}\nc: *x\n"},
		{"items apart", "a:\n- b: 1\n\n- c: 2\n", "a:\n  - b: 1\n\n  - c: 2\n"},
		{"wide characters", "名: ${ .x }\n", "名: ${ .x }\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Document("a.yaml", []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
			again, err := Document("a.yaml", got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), string(again)); diff != "" {
				t.Error("not idempotent:", diff)
			}
		})
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("a:\n  b:\n  - c # d\n\n  - e: |\n      x\n\n      y")
	f.Add("# head\n\na: {b: [1, 'x']}\n# foot")
	f.Add("a: >-\n  x\n\n  y\nb: \"c\\n\"")
	f.Fuzz(func(t *testing.T, metadata string) {
		text := "do:\n- a: { set: { x: 1 } }\ndocument:\n  dsl: 1.0.3\n  namespace: n\n  name: n\n  version: 0.1.0\n  metadata:\n    " +
			strings.ReplaceAll(metadata, "\n", "\n    ") + "\n"
		if _, found := dsl.Parse("a.yaml", []byte(text)); found.Err() != nil {
			t.Skip("fmt refuses it")
		}
		once, err := Document("a.yaml", []byte(text))
		if err != nil {
			t.Skip("exotic YAML is left as it is rather than changed")
		}
		twice, err := Document("a.yaml", once)
		if err != nil {
			t.Fatalf("%q becomes %q, which cannot be formatted: %v", text, once, err)
		}
		if string(once) != string(twice) {
			t.Errorf("%q becomes %q and then %q", text, once, twice)
		}
	})
}
