package house

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
		"run_workflow": {"internal/faultreport/where.go", "runtime/definition/reference.go"},
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
			if !slices.Contains(listed[group], strings.ReplaceAll(file, stem, group+"_NAME")) && !slices.Contains(otherFiles()[stem], file) {
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

// TestFilesThatAreListed: each file that CONTRIBUTING.md lists is there for each kind of call and of run that runs.
func TestFilesThatAreListed(t *testing.T) {
	listed := mustListedFiles(t)
	for _, kind := range tasks.All(tasks.Config{}) {
		group, name, _ := strings.Cut(string(kind.Kind), "_")
		if name == "" {
			continue
		}
		for _, file := range listed[group] {
			if file = strings.ReplaceAll(file, "NAME", name); !exists(file) {
				t.Errorf("%s is missing: CONTRIBUTING.md says what it holds", file)
			}
		}
	}
}

// mustListedFiles returns the files in the lists for adding a kind of call, with call_NAME for its stem, and of run, with run_NAME.
func mustListedFiles(t *testing.T) map[string][]string {
	t.Helper()
	forCalls, forRuns, _ := strings.Cut(section(t, "Adding a kind of call or of run"), "\nA kind of run")
	calls, runs := mustRows(t, forCalls), mustRows(t, forRuns)
	if len(calls) < 10 {
		t.Fatalf("only %q are listed", calls)
	}
	for _, file := range calls {
		if ofAllRuns := strings.NewReplacer("call_NAME.yaml", "run.yaml", "call_NAME.txt", "run.txt", "/call.go", "/run.go").Replace(file); ofAllRuns == file || !slices.Contains(runs, ofAllRuns) {
			runs = append(runs, strings.ReplaceAll(file, "call_NAME", "run_NAME"))
		}
	}
	return map[string][]string{"call": calls, "run": runs}
}

// section returns the text below a heading of CONTRIBUTING.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, text, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// mustRows returns the files that tables list.
func mustRows(t *testing.T, tables string) (files []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(tables, -1) {
		files = append(files, m[1])
	}
	if len(files) == 0 {
		t.Fatalf("no files are listed in %q", tables)
	}
	return files
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
	constants := regexp.MustCompile(`(?m)^const Kind(\w+) Kind = "(\w+)"`)
	for _, kind := range dsl.Kinds() {
		stem := string(kind)
		m := constants.FindStringSubmatch(read(t, "dsl/"+stem+".go"))
		if m == nil || m[2] != stem {
			t.Fatalf("dsl/%s.go has no constant for its kind", stem)
		}
		name := m[1]
		stems["dsl.Kind"+name], stems["dsl."+name+"Task"] = stem, stem
		if strings.Contains(stem, "_") {
			stems["dsl."+name], stems["dsl.parse"+name] = stem, stem
			stems["tasks."+strings.ToLower(name[:1])+name[1:]] = stem
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
