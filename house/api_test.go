package house

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

// TestEveryEntryIsShown: each function and method that the library exports is called by an example whose output is checked.
func TestEveryEntryIsShown(t *testing.T) {
	tokens := token.NewFileSet()
	//lint:ignore SA1019 the package has no build tags
	parsed, err := parser.ParseDir(tokens, ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range []string{"example_test.go", "example_store_test.go", "example_events_test.go"} {
		tests, err := parser.ParseFile(tokens, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Examples(tests) {
			if e.Output == "" {
				t.Errorf("Example%s checks no output", e.Name)
			}
		}
		ast.Inspect(tests, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				shown[s.Sel.Name] = true
			}
			return true
		})
	}
	entries := 0
	shown["Supervise"] = true // by TestMain, which is this program's main
	exported := func(f *doc.Func) {
		entries++
		implicit := f.Name == "Error" || f.Name == "Unwrap" || f.Name == "String" // called by fmt and errors
		if !shown[f.Name] && !implicit {
			t.Errorf("no example shows %s %s", f.Recv, f.Name)
		}
		if f.Doc == "" && !implicit {
			t.Errorf("%s %s has no comment", f.Recv, f.Name)
		}
	}
	library := doc.New(parsed["swrun"], "github.com/swrun/swrun", 0)
	for _, f := range library.Funcs {
		exported(f)
	}
	for _, typ := range library.Types {
		for _, f := range append(typ.Funcs, typ.Methods...) {
			exported(f)
		}
	}
	if entries < 30 {
		t.Errorf("only %d entries found", entries)
	}
}
