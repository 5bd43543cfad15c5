package swrun_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/tasks"
)

// otherFiles returns the files that name a kind of call or run although they are none of those that CONTRIBUTING.md lists:
// each is about something that only this kind has. A kind that is added needs no such file.
func otherFiles() map[string][]string {
	return map[string][]string{
		"call_http":     {"dsl/rule_endpoint.go", "internal/bench/runs.go"}, // URLs; answers of the benchmark
		"call_function": {"calls.go"},                                       // calls that are performed in Go
		// The runs that a run starts.
		"run_workflow": {"internal/faultreport/where.go", "runtime/client/child.go", "runtime/definition/reference.go"},
	}
}

// switchesOverKinds returns the files that have a switch over kinds of tasks. All others ask a task for its traits.
func switchesOverKinds() []string {
	return []string{
		"internal/graph/flow.go", // draws the kinds that hold tasks, each in its own way
	}
}

// TestFilesOfAKind: the files that name a kind of call or run are those that CONTRIBUTING.md lists for adding one.
func TestFilesOfAKind(t *testing.T) {
	listed := mustListedFiles(t)
	named, stems := map[string][]string{}, kindNames(t)
	for file, parsed := range mustParsedFiles(t) {
		for _, stem := range kindsNamedIn(parsed, path.Dir(file), stems) {
			named[stem] = append(named[stem], file)
		}
	}
	for _, kind := range dsl.Kinds() {
		stem := string(kind)
		group, _, _ := strings.Cut(stem, "_")
		if group != "call" && group != "run" || stem == group {
			continue
		}
		for _, file := range named[stem] {
			pattern := strings.NewReplacer(stem, "call_NAME", "dsl/run.go", "dsl/call.go").Replace(file)
			if !slices.Contains(listed, pattern) && !slices.Contains(otherFiles()[stem], file) {
				t.Errorf("%s names the kind %s: ask the task for its traits instead, or add the file to the list in CONTRIBUTING.md", file, stem)
			}
		}
		for _, file := range otherFiles()[stem] {
			if !slices.Contains(named[stem], file) {
				t.Errorf("%s does not name the kind %s any more: remove it from otherFiles", file, stem)
			}
		}
	}
}

// TestFilesThatAreListed: each file that CONTRIBUTING.md lists is there for each kind of call that runs.
func TestFilesThatAreListed(t *testing.T) {
	for _, kind := range tasks.All(tasks.Config{}) {
		stem := string(kind.Kind)
		if !strings.HasPrefix(stem, "call_") {
			continue
		}
		for _, file := range mustListedFiles(t) {
			if file = strings.ReplaceAll(file, "call_NAME", stem); !exists(file) {
				t.Errorf("%s is missing: CONTRIBUTING.md says what it holds", file)
			}
		}
	}
}

// mustListedFiles returns the files in the list for adding a kind of call, with call_NAME for its stem.
func mustListedFiles(t *testing.T) []string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "## Adding a kind of call\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, m[1])
	}
	if len(listed) < 10 {
		t.Fatalf("only %q are listed", listed)
	}
	return listed
}

// TestNoSwitchesOverKinds: what rules, compilers and drawings need to know of a kind they ask of the task.
func TestNoSwitchesOverKinds(t *testing.T) {
	var found []string
	stems := kindNames(t)
	for file, parsed := range mustParsedFiles(t) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			var body *ast.BlockStmt
			switch n := n.(type) {
			case *ast.TypeSwitchStmt:
				body = n.Body
			case *ast.SwitchStmt:
				body = n.Body
			default:
				return true
			}
			if kindsInCases(body, path.Dir(file), stems) > 1 {
				found = append(found, file)
			}
			return true
		})
	}
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, switchesOverKinds()) {
		t.Errorf("switches over kinds of tasks in %q, want %q", found, switchesOverKinds())
	}
}

// kindsInCases counts the kinds that the cases of a switch name.
func kindsInCases(body *ast.BlockStmt, dir string, stems map[string]string) int {
	kinds := map[string]bool{}
	for _, clause := range body.List {
		for _, one := range clause.(*ast.CaseClause).List {
			for _, stem := range kindsNamedIn(one, dir, stems) {
				kinds[stem] = true
			}
		}
	}
	return len(kinds)
}

func mustParsedFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	for file := range mustImports(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = parsed
	}
	return all
}

// kindNames returns the stem of each kind by the names that stand for it: a constant such as dsl.KindCallHTTP, a type such as
// dsl.CallHTTP, what parses it, and its entry in tasks.All.
func kindNames(t *testing.T) map[string]string {
	t.Helper()
	stems := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\tKind(\w+) +Kind = "(\w+)"`).FindAllStringSubmatch(read(t, "dsl/task.go"), -1) {
		name, stem := m[1], m[2]
		stems["dsl.Kind"+name], stems["dsl."+name+"Task"] = stem, stem
		if strings.Contains(stem, "_") {
			stems["dsl."+name], stems["dsl.parse"+name] = stem, stem
			stems["tasks."+strings.ToLower(name[:1])+name[1:]] = stem
		}
	}
	for _, kind := range dsl.Kinds() {
		if !slices.Contains(slices.Collect(maps.Values(stems)), string(kind)) {
			t.Fatalf("dsl/task.go has no constant for the kind %s", kind)
		}
	}
	return stems
}

// kindsNamedIn returns the stems of the kinds that code of a folder names.
func kindsNamedIn(code ast.Node, dir string, stems map[string]string) []string {
	named := map[string]bool{}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok {
				named[stems[from.Name+"."+n.Sel.Name]] = true
			}
		case *ast.Ident:
			named[stems[dir+"."+n.Name]] = true
		}
		return true
	})
	delete(named, "")
	return slices.Sorted(maps.Keys(named))
}
