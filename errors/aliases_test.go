package errors_test

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
)

func TestAliases(t *testing.T) {
	a := errors.Aliases{"https://x.io/a": "https://x.io/b", "https://x.io/b": "https://x.io/c", "https://old.io/slow": errors.BaseOpenWorkflow + "timeout"}
	if err := a.Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x, y string
		want bool
	}{
		{"https://x.io/a", "https://x.io/c", true}, {"https://x.io/c", "https://x.io/a", true}, {"https://x.io/a", "https://x.io/d", false},
		{"https://old.io/slow", errors.Timeout, true}, {errors.Timeout, errors.BaseOpenWorkflow + "timeout", true}, {"https://x.io/a", errors.Timeout, false},
	} {
		if got := a.Same(c.x, c.y); got != c.want {
			t.Errorf("%s and %s: %v", c.x, c.y, got)
		}
	}
	if got := strings.Join(a.Spellings("https://x.io/b"), " "); got != "https://x.io/b https://x.io/a https://x.io/c" {
		t.Errorf("b is spelt %s", got)
	}
	for name, wrong := range map[string]errors.Aliases{
		"leads back":     {"https://x.io/a": "https://x.io/a"},
		"leads in":       {"https://x.io/a": "https://x.io/b", "https://x.io/b": "https://x.io/c", "https://x.io/c": "https://x.io/b"},
		"leads back to":  {errors.Timeout: errors.BaseOpenWorkflow + "timeout"},
		"absolute URI":   {"timeout": errors.Timeout},
		"must be an abs": {"https://x.io/a": ""},
	} {
		if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v, want %s", wrong, err, name)
		}
	}
	var none errors.Aliases
	if none.Check() != nil || !none.Same(errors.Timeout, errors.BaseOpenWorkflow+"timeout") || none.Same("a", "b") {
		t.Error("without aliases")
	}
}
