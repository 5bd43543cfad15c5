package spec_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
)

var (
	example = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	rule    = regexp.MustCompile(`(?m)^- \*\*([A-Z]+)(\d+)\*\* `)
)

// TestNotes: every kind of task has its page, whose example is a valid task and whose rules are numbered.
func TestNotes(t *testing.T) {
	prefixes := map[string]dsl.Kind{}
	for _, kind := range dsl.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			text, err := os.ReadFile(string(kind) + ".md")
			if err != nil {
				t.Fatal(err)
			}
			examples := example.FindAllStringSubmatch(string(text), -1)
			if len(examples) == 0 {
				t.Fatal("there is no example")
			}
			for _, e := range examples {
				checkExample(t, kind, e[1])
			}
			rules := rule.FindAllStringSubmatch(string(text), -1)
			if len(rules) == 0 {
				t.Fatal("there are no rules")
			}
			for i, r := range rules {
				if r[2] != strconv.Itoa(i+1) || r[1] != rules[0][1] {
					t.Errorf("rule %s%s stands at place %d", r[1], r[2], i+1)
				}
			}
			if other, taken := prefixes[rules[0][1]]; taken {
				t.Errorf("%s numbers its rules by %s too", other, rules[0][1])
			}
			prefixes[rules[0][1]] = kind
		})
	}
}

// checkExample parses the tasks of an example and looks for one of the kind.
func checkExample(t *testing.T, kind dsl.Kind, tasks string) {
	t.Helper()
	document := "document: {dsl: 1.0.3, namespace: a, name: a, version: 0.1.0}\ndo:\n" + tasks
	w, found := dsl.Parse(string(kind)+".md", []byte(document))
	if len(found) > 0 {
		t.Fatal(found)
	}
	if first := w.Do[0].Kind(); !strings.EqualFold(string(first), string(kind)) {
		t.Errorf("the example is a %s task", first)
	}
}
