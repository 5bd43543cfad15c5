package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

// The limits of house rule 6.
const (
	functionLines = 40
	fileLines     = 400
	parameters    = 4 // besides the receiver, the context and *testing.T
)

// overSize returns the functions and files that may be larger, each with the reason.
func overSize() map[string]string {
	return map[string]string{
		"process/engine.go: rejection": "the JavaScript engine calls it, and gives it six arguments",

		"redisstore/read.go: List":       "one page, with the runs that were removed meanwhile",
		"redisstore/scrub.go: repair":    "one kind of damage after another",
		"redisstore/scrub.go: standings": "reads one answer after another",
		"runtime/store/store.go":         "the whole contract of a store",
	}
}

// TestSizes: functions, files and lists of parameters stay within the limits of CONTRIBUTING.md.
func TestSizes(t *testing.T) {
	reasons, needed := overSize(), map[string]bool{}
	exceeded := func(what string, got, limit int, unit string) {
		if got <= limit {
			return
		}
		needed[what] = true
		if reasons[what] == "" {
			t.Errorf("%s has %d %s, the limit is %d: divide it", what, got, unit, limit)
		}
	}
	for name, text := range prose(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		exceeded(name, strings.Count(text, "\n"), fileLines, "lines")
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			what := name + ": " + f.Name.Name
			exceeded(what, countParameters(f.Type), parameters, "parameters")
			if !strings.HasSuffix(name, "_test.go") && !returnsTable(f) {
				exceeded(what, files.Position(f.End()).Line-files.Position(f.Pos()).Line+1, functionLines, "lines")
			}
		}
	}
	for what := range reasons {
		if !needed[what] {
			t.Errorf("%s is within the limits: remove it from overSize", what)
		}
	}
}

// countParameters counts the parameters of a function without contexts and *testing.T.
func countParameters(f *ast.FuncType) (n int) {
	for _, field := range f.Params.List {
		of := field.Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		if name, ok := of.(*ast.SelectorExpr); ok {
			if from, ok := name.X.(*ast.Ident); ok && (from.Name == "testing" || name.Sel.Name == "Context") {
				continue
			}
		}
		n += max(1, len(field.Names))
	}
	return n
}

// returnsTable reports whether a function is no more than a table that it returns, which may be long.
func returnsTable(f *ast.FuncDecl) bool {
	if f.Body == nil || len(f.Body.List) != 1 {
		return false
	}
	result, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(result.Results) != 1 {
		return false
	}
	_, ok = result.Results[0].(*ast.CompositeLit)
	return ok
}
