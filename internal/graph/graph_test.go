package graph

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
)

func TestNamesCannotBreakAGraph(t *testing.T) {
	evil := &dsl.SetTask{TaskBase: dsl.TaskBase{Pointer: "/do/0/x", Name: "x\"]; n9[label=\"y\"];\n#quot;<script>`*`"}}
	w := &dsl.Workflow{Document: dsl.Document{Namespace: "n", Name: "n", Version: "0.1.0"}, Do: dsl.TaskList{evil}}
	for _, c := range []struct{ form, want string }{
		{"text", "└─ x\"]; n9[label=\"y\"];\\n#quot;<script>`*`   set\n"},
		{"mermaid", "n3(\"x#quot;]; n9[label=#quot;y#quot;];\\n#35;quot;#lt;script#gt;#96;*#96; (set)\");\n"},
		{"dot", "n3[label=\"x\\\"]; n9[label=\\\"y\\\"];\\\\n#quot;<script>`*` (set)\",shape=\"box\"];\n"},
		{"svg", "<title>x&#34;]; n9[label=&#34;y&#34;];\\n#quot;&lt;script&gt;`*` (set)</title>"},
	} {
		t.Run(c.form, func(t *testing.T) {
			if got := Draw(w, c.form, terminal.Style{}); !strings.Contains(got, c.want) {
				t.Errorf("%q is missing in\n%s", c.want, got)
			}
		})
	}
}

func TestEveryExampleCanBeDrawn(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, found := dsl.Parse(file, text)
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		tasks := 0
		for _, t := range w.Do {
			tasks += countTasks(t)
		}
		if got := strings.Count(Draw(w, "mermaid", terminal.Style{}), "("); got < tasks {
			t.Errorf("%s: %d boxes for %d tasks", file, got, tasks)
		}
	}
}

// TestItemsOfAListenerAreDrawn: tasks that run for each event are drawn as a loop, like those of a for.
func TestItemsOfAListenerAreDrawn(t *testing.T) {
	w, _ := dsl.Parse("listen.yaml", []byte(`do: [{wait: {listen: {to: {any: []}}, foreach: {do: [{note: {set: {a: 1}}}]}}}]`))
	drawn := Draw(w, "mermaid", terminal.Style{})
	for _, want := range []string{"note (set)", "each item", "done"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%q is missing in\n%s", want, drawn)
		}
	}
}

func countTasks(t dsl.Task) int {
	n := 1
	for _, list := range dsl.Lists(t) {
		for _, inner := range list {
			n += countTasks(inner)
		}
	}
	return n
}
