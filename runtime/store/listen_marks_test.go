package store

import (
	"encoding/json"
	"testing"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// TestMarkedExpressions: a build that knows no marks compiles marked expressions as the bare ones. A build that knows marks finds the
// namespace and the bare text.
func TestMarkedExpressions(t *testing.T) {
	for _, source := range []string{".a", "# text\n.a", ".a # \\", "# \\\n(\r.a", `"\n" + .a`, `.["<#>"] // .a`, "\"é\u2028\" + .a", "{a: 1} | .a", "$", "#"} {
		texts, err := json.Marshal([]string{source, ".b"})
		if err != nil {
			t.Fatal(err)
		}
		want, code := source, 0
		if c, err := expr.Compile("${" + want + "}"); err == nil && c != nil {
			code = 1
		}
		for n, from := range markedFrom("n-1", string(texts)) {
			bare, namespace, marked := BareFrom(from)
			if bare != string(texts) || !marked || namespace != []string{"", "n-1"}[n] {
				t.Errorf("%q: it is %q of %q, %v", source, bare, namespace, marked)
			}
			var older []string
			if err := json.Unmarshal([]byte(from), &older); err != nil || len(older) != 2 || older[1] != ".b" {
				t.Errorf("%q: an older build reads %q, %v", source, older, err)
				continue
			}
			c, err := expr.Compile("${" + older[0] + "}")
			if (err == nil && c != nil) != (code == 1) {
				t.Errorf("%q: an older build compiles %q: %v", source, older[0], err)
			}
		}
	}
	if got := NewListens("n", []interpreter.EventFilter{{Type: "t"}}); got != NewListens("", []interpreter.EventFilter{{Type: "t"}}) {
		t.Errorf("a filter without expressions is marked: %s", got)
	}
}
