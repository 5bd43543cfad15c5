package expr_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

func FuzzCompile(f *testing.F) {
	for _, program := range []string{
		".", "${ .a.b }", "${{a: .x}}", `"a \(.b + "c \(1)")"`, ". as [$a, {b: $c}] ?// $d | $a", "def f($x; g): g | $x; f(1; .)",
		"# comment \\\n.a", `.["a"]?.b[1:2][]`, "reduce .[] as $x (0; . + $x)", "@base64 \"x\\(.)\"", "label $f | break $f", "1e", "..a",
		"{$x, @text \"a\": 1}", "if . then 1 elif 2 then 3 end", "try error catch .", "\x00\xff", ".a |= empty", "'",
	} {
		f.Add(program)
	}
	input := map[string]any{"a": 1, "b": []any{"x", nil}}
	f.Fuzz(func(t *testing.T, program string) {
		watch := time.AfterFunc(20*time.Second, func() { panic("this takes too long: " + program) })
		defer watch.Stop()
		_, analyzed := expr.Analyze(program)
		code, err := expr.Compile(program)
		if err == nil {
			if analyzed != nil {
				t.Errorf("it compiles, but: %v", analyzed)
			}
			if _, err := code.Eval(env{}, input); err != nil && errors.AsError(err) == nil {
				t.Errorf("got %v, want a workflow error", err)
			}
			return
		}
		var syntax *expr.SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(program) || syntax.Msg == "" {
			t.Errorf("got %#v", err)
		}
	})
}

func FuzzDelimited(f *testing.F) {
	for _, text := range []string{"${ .a }", " ${}\n", "${", "$}", "a ${ b }", "}${", "${ .a } ${ .b }"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trimmed := strings.TrimSpace(text)
		want := len(trimmed) >= 3 && trimmed[:2] == "${" && trimmed[len(trimmed)-1] == '}'
		if got := expr.Delimited(text); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		if template, err := expr.CompileTemplate(text, false); !want && (err != nil || !isLiteral(template)) {
			t.Errorf("text is no literal: %v", err)
		}
	})
}

func isLiteral(t *expr.Template) bool {
	_, ok := t.Literal()
	return ok
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"null", "[1, -0, 1.50, 1e400]", `{"a": "\ud83d\ude00\u0000"}`, "9007199254740993", "\"\xff\"", "[[[", "1 1"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := expr.Decode(data)
		if err != nil {
			return
		}
		once, err := expr.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := expr.Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, _ := expr.Encode(again); !bytes.Equal(once, twice) {
			t.Errorf("%s becomes %s", once, twice)
		}
		if normal, err := expr.Normalize(v); err != nil {
			t.Error(err)
		} else if text, _ := expr.Encode(normal); !bytes.Equal(text, once) {
			t.Errorf("normalized, %s becomes %s", once, text)
		}
	})
}
