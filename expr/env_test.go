package expr_test

import (
	"testing"
	"time"

	"github.com/swrun/swrun/expr"
)

// env is variables and a clock for tests.
type env map[string]any

func (e env) Variable(name string) any { return e[name] }
func (e env) Now() time.Time           { return time.Unix(1_700_000_000, 500_000_000) }

func evaluate(program string, input any) (any, error) {
	code, err := expr.Compile(program)
	if err != nil {
		return nil, err
	}
	return code.Eval(env{}, input)
}

func mustDecode(t testing.TB, text string) any {
	t.Helper()
	v, err := expr.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustCompile(t testing.TB, program string) *expr.Code {
	t.Helper()
	code, err := expr.Compile(program)
	if err != nil {
		t.Fatal(err)
	}
	return code
}
