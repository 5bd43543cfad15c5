package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCoreIsPure searches the packages that must be functions of data for impure code: the outside, the clock, chance and concurrency.
func TestCoreIsPure(t *testing.T) {
	for _, pkg := range []string{"interpreter", "runtime/execution", "runtime/lease"} {
		files, err := filepath.Glob("../" + pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal("no files", err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				mustBePure(t, file)
			}
		}
	}
}

func mustBePure(t *testing.T, file string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range impurities(parsed) {
		t.Errorf("%s: %s", set.Position(found.at), found.what)
	}
}

// TestImpuritiesAreFound runs the search on a file that contains one of each.
func TestImpuritiesAreFound(t *testing.T) {
	const source = `package p
import ("os"; clock "time"; "math/rand/v2")
func f(c chan int) {
	go f(c)
	select { case <-c: default: }
	_ = clock.Now()
	c <- rand.Int()
	os.Exit(1)
}`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, found := range impurities(parsed) {
		got = append(got, found.what)
	}
	want := []string{
		`imports "os"`, `imports "math/rand/v2"`, "a go statement", "a select statement", "a receive from a channel",
		"calls clock.Now", "a send to a channel",
	}
	if !slices.Equal(want, got) {
		t.Errorf("got %q, want %q", got, want)
	}
}

type impurity struct {
	at   token.Pos
	what string
}

func impurities(file *ast.File) []impurity {
	var found []impurity
	clock := ""
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if forbidden(path) {
			found = append(found, impurity{spec.Pos(), "imports " + spec.Path.Value})
		}
		if path == "time" {
			clock = "time"
			if spec.Name != nil {
				clock = spec.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if what := impure(n, clock); what != "" {
			found = append(found, impurity{n.Pos(), what})
		}
		return true
	})
	return found
}

// forbidden reports whether a package of the standard library gives access to anything except data.
func forbidden(path string) bool {
	for _, root := range []string{"os", "net", "sync", "math/rand", "crypto/rand", "io/fs", "syscall", "runtime", "log", "unsafe"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return path != "net/url"
		}
	}
	return false
}

// impure returns the impurity of a node, or "".
func impure(n ast.Node, clock string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.SelectStmt:
		return "a select statement"
	case *ast.SendStmt:
		return "a send to a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a receive from a channel"
		}
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		reads := []string{"Now", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Since", "Until"}
		if ok && clock != "" && x.Name == clock && slices.Contains(reads, n.Sel.Name) {
			return "calls " + clock + "." + n.Sel.Name
		}
	}
	return ""
}
