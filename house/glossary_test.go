package house

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
				t.Errorf("docs/glossary.md names %s, which no package exports", name[1])
			}
		}
	}
	if rows < 50 {
		t.Errorf("only %d rows name code", rows)
	}
}

// exportedNames returns the names that the module's packages export, each with its package: store.Lifecycle, with its fields
// and methods: store.Lifecycle.Wake.
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
			for _, one := range declared(d) {
				all[file.Name.Name+"."+one] = true
			}
		}
	}
	return all
}

// declared returns the exported names that a declaration gives to functions, types, values, methods and fields.
func declared(d ast.Decl) (names []string) {
	add := func(of string, all ...*ast.Ident) {
		for _, name := range all {
			if name.IsExported() {
				names = append(names, of+name.Name)
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		of := ""
		if d.Recv != nil {
			of = receiver(d.Recv.List[0].Type) + "."
		}
		add(of, d.Name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add("", s.Name)
				for _, m := range members(s.Type) {
					add(s.Name.Name+".", m.Names...)
				}
			case *ast.ValueSpec:
				add("", s.Names...)
			}
		}
	}
	return names
}

// receiver returns the name of the type that a method belongs to.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

// members returns the fields of a struct, or the methods of an interface.
func members(of ast.Expr) []*ast.Field {
	switch of := of.(type) {
	case *ast.StructType:
		return of.Fields.List
	case *ast.InterfaceType:
		return of.Methods.List
	}
	return nil
}
