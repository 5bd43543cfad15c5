package swrun_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestGlossaryNamesTheCode: what docs/glossary.md says a word is called in the code is an exported name of that package.
func TestGlossaryNamesTheCode(t *testing.T) {
	exported := exportedNames(t)
	rows := 0
	for _, row := range regexp.MustCompile(`(?m)^\| [^|]+ \| ([^|]*) \| [^|]+ \|$`).FindAllStringSubmatch(read(t, "docs/glossary.md"), -1) {
		names := quoted.FindAllStringSubmatch(row[1], -1)
		if len(names) > 0 {
			rows++
		}
		for _, name := range names {
			if !exported[name[1]] {
				t.Errorf("%s is no exported name", name[1])
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows name code", rows)
	}
}

// exportedNames returns the names that the module's packages export, each with its package: store.Lifecycle.
func exportedNames(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for name, text := range prose(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			for _, n := range declared(d) {
				all[file.Name.Name+"."+n.Name] = n.IsExported()
			}
		}
	}
	return all
}

// declared returns the names that a declaration gives to functions, types and values.
func declared(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}
