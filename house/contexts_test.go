package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestContextsAreNotStored: no field of a type is a context (house rule 10).
func TestContextsAreNotStored(t *testing.T) {
	fields := 0
	for name, text := range prose(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			of, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range of.Fields.List {
				fields++
				if s, ok := f.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Context" {
					t.Errorf("%s stores a context", files.Position(f.Pos()))
				}
			}
			return true
		})
	}
	if fields < 500 {
		t.Errorf("only %d fields of types were looked at", fields)
	}
}
