package interpreter

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoredKeysAreUnique: no two members of a stored object share a key. Otherwise one of them would be read as the other.
func TestStoredKeysAreUnique(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]string{"taskFrame": {"commonFrame"}, "listFrame": {"commonFrame"}} // stored in one object
	keys := map[string]map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !strings.HasPrefix(f.Name.Name, "stored") {
				continue
			}
			of := string(text[f.Recv.List[0].Type.Pos()-1 : f.Recv.List[0].Type.End()-1])
			for _, key := range storedKeys(f) {
				of := strings.TrimPrefix(of, "*")
				if keys[of] == nil {
					keys[of] = map[string]bool{}
				}
				if keys[of][key] {
					t.Errorf("%s stores two members as %s", of, key)
				}
				keys[of][key] = true
			}
		}
	}
	for of, others := range parts {
		for _, other := range others {
			for key := range keys[other] {
				if keys[of][key] {
					t.Errorf("%s and %s both store a member as %s", of, other, key)
				}
			}
		}
	}
	if len(keys["HistoryEvent"]) < 10 || len(keys["State"]) < 10 || len(keys["taskFrame"]) < 10 {
		t.Errorf("only %d, %d and %d keys were found", len(keys["HistoryEvent"]), len(keys["State"]), len(keys["taskFrame"]))
	}
}

// storedKeys returns the keys that a method gives to members: the literal beside the object or the member.
func storedKeys(f *ast.FuncDecl) (all []string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for at, arg := range call.Args {
			if literal, ok := arg.(*ast.BasicLit); ok && literal.Kind == token.STRING && at < 2 {
				all = append(all, literal.Value)
			}
		}
		return true
	})
	return all
}
