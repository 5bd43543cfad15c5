package conformance

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rowsOfPromises is the number of rows of docs/promises.md.
const rowsOfPromises = 237

var (
	promisesRow = regexp.MustCompile(`(?m)^\| ([0-9][0-9, ]*) \| (.+) \| ([^|]+) \| ([^|]+) \|$`)
	inQuotes    = regexp.MustCompile("`([^`]+)`")
)

// TestPromises: docs/promises.md has every row, each with one verdict and its evidence: tests that exist, or a reason.
func TestPromises(t *testing.T) {
	tests := testsOfTheModule(t)
	page, err := os.ReadFile("../docs/promises.md")
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[int]string{}
	for _, row := range promisesRow.FindAllStringSubmatch(string(page), -1) {
		for n := range strings.SplitSeq(row[1], ", ") {
			number, err := strconv.Atoi(n)
			if err != nil || number < 1 || number > rowsOfPromises {
				t.Errorf("%q is no row: they are 1 to %d", n, rowsOfPromises)
			}
			if other := verdicts[number]; other != "" && other != row[3] {
				t.Errorf("row %d has two verdicts, %s and %s", number, other, row[3])
			}
			verdicts[number] = row[3]
		}
		for _, problem := range misjudged(row[3], row[4], tests) {
			t.Errorf("row %s %s", row[1], problem)
		}
	}
	for _, number := range missingRows(verdicts) {
		t.Errorf("docs/promises.md has no row %d", number)
	}
}

// misjudged returns the faults in the verdict of a row, given its last column.
func misjudged(verdict, by string, tests map[string]knownTest) (problems []string) {
	names := inQuotes.FindAllStringSubmatch(by, -1)
	switch {
	case !slices.Contains([]string{"holds", "by design not", "open"}, verdict):
		problems = append(problems, "has the verdict "+strconv.Quote(verdict)+", which is none of holds, by design not and open")
	case verdict == "holds" && len(names) == 0:
		problems = append(problems, "names no test that holds it")
	case verdict != "holds" && strings.TrimSpace(by) == "":
		problems = append(problems, "does not say why")
	}
	asUsersDo := false
	for _, name := range names {
		isTest := strings.HasPrefix(name[1], "Test")
		test, exists := tests[name[1]]
		asUsersDo = asUsersDo || test.asUsersDo || isCase(name[1])
		switch {
		case (verdict == "holds" || isTest) && !exists && !isCase(name[1]):
			problems = append(problems, "names "+name[1]+", which does not exist")
		case verdict == "holds" && exists && !test.runs:
			problems = append(problems, "names "+name[1]+", which may skip itself")
		}
	}
	if verdict == "holds" && len(names) > 0 && len(problems) == 0 && !asUsersDo {
		problems = append(problems, "names no test that asks the command, the API or the library, as users do")
	}
	return problems
}

// isCase reports whether a case or a script of that name exists.
func isCase(name string) bool {
	for _, file := range []string{"testdata/" + name + ".txtar", "../cmd/swrun/testdata/script/" + name} {
		if _, err := os.Stat(file); err == nil && strings.Trim(name, "./") == name {
			return true
		}
	}
	return false
}

// missingRows returns the rows without a verdict.
func missingRows(verdicts map[int]string) (missing []int) {
	for number := 1; number <= rowsOfPromises; number++ {
		if verdicts[number] == "" {
			missing = append(missing, number)
		}
	}
	return missing
}

// knownTest is a test of the module.
type knownTest struct {
	runs      bool // scripts/test.sh surely runs it
	asUsersDo bool // it uses the command, the API or the library
}

// foldersOfUsers returns the folders whose tests use swrun as users do.
func foldersOfUsers() []string {
	return []string{"..", "../cmd/swrun", "../server", "../examples", "../faults", "../conformance"}
}

// testsOfTheModule returns the tests of the module by their names.
func testsOfTheModule(t *testing.T) map[string]knownTest {
	t.Helper()
	folders := map[string][]testFile{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		folders[filepath.Dir(file)] = append(folders[filepath.Dir(file)], mustTestFile(t, file, text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]knownTest{}
	for folder, files := range folders {
		for name, runs := range testsOf(files) {
			other := tests[name]
			tests[name] = knownTest{other.runs || runs, other.asUsersDo || slices.Contains(foldersOfUsers(), folder)}
		}
	}
	return tests
}

// testFile is a file of tests, and whether it is built where they run, also by its name: name_windows_test.go is not.
type testFile struct {
	*ast.File
	built bool
}

func mustTestFile(t *testing.T, name string, text []byte) testFile {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	linux := build.Default
	linux.GOOS, linux.BuildTags = "linux", []string{"planted"}
	linux.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	built, err := linux.MatchFile(filepath.Split(name))
	if err != nil {
		t.Fatal(err)
	}
	return testFile{parsed, built}
}

// testsOf returns the tests of the files of a folder. A test is not surely run if it, or a function of the folder that it calls, may skip it, or if
// its file is not built.
func testsOf(files []testFile) map[string]bool {
	skips, calls, tests := map[string]bool{}, map[string][]string{}, map[string]bool{}
	for _, file := range files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			name := f.Name.Name
			if f.Recv == nil && strings.HasPrefix(name, "Test") {
				tests[name] = file.built
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					skips[name] = skips[name] || strings.HasPrefix(n.Sel.Name, "Skip") && isOf(n.X, "t", "b", "tb")
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.Ident); ok {
						calls[name] = append(calls[name], called.Name)
					}
				}
				return true
			})
		}
	}
	for name := range tests {
		tests[name] = tests[name] && !maySkip(name, skips, calls, map[string]bool{})
	}
	return tests
}

func isOf(x ast.Expr, names ...string) bool {
	ident, ok := x.(*ast.Ident)
	return ok && slices.Contains(names, ident.Name)
}

func maySkip(name string, skips map[string]bool, calls map[string][]string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	return skips[name] || slices.ContainsFunc(calls[name], func(called string) bool { return maySkip(called, skips, calls, seen) })
}

// TestPromisesAreJudged runs the check on wrong rows.
func TestPromisesAreJudged(t *testing.T) {
	tests := map[string]knownTest{"TestThere": {true, true}, "TestSkips": {false, true}, "TestInside": {true, false}}
	for name, c := range map[string]struct {
		verdict, by string
		problems    int
	}{
		"a test that is there":         {"holds", "`TestThere`", 0},
		"a test that is not":           {"holds", "`TestGone`", 1},
		"a test that may skip":         {"holds", "`TestSkips`", 1},
		"a test of what is inside":     {"holds", "`TestInside`", 1},
		"one of what is inside":        {"holds", "`TestInside`, `TestThere`", 0},
		"a case that is not":           {"holds", "`timeout/9.9-nothing`", 1},
		"one of two":                   {"holds", "`TestThere`, `TestGone`", 1},
		"a folder":                     {"holds", "`timeout`", 1},
		"no test":                      {"holds", "everything", 1},
		"no such verdict":              {"mostly", "`TestThere`", 1},
		"open for a reason":            {"open", "as `retry` is missing", 0},
		"open, with a test":            {"open", "only `TestThere`", 0},
		"open, with a test that isn't": {"open", "only `TestGone`", 1},
		"open without a reason":        {"open", " ", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := misjudged(c.verdict, c.by, tests); len(got) != c.problems {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestTestsAreFound runs the search for tests on files of all sorts.
func TestTestsAreFound(t *testing.T) {
	parse := func(text string) testFile { return mustTestFile(t, "a_test.go", []byte(text)) }
	got := testsOf([]testFile{
		mustTestFile(t, "time_windows_test.go", []byte("package a\nfunc TestByItsName(t *testing.T) {}")),
		mustTestFile(t, "full_linux_test.go", []byte("package a\nfunc TestOfLinux(t *testing.T) {}")),
		parse("package a\nfunc TestRuns(t *testing.T) { help(t) }\nfunc TestSkips(t *testing.T) { if true { t.Skip() } }\nfunc TestHelped(t *testing.T) { skip(t) }\nfunc help(t *testing.T) { help(t) }"),
		parse("package a\nfunc skip(t *testing.T) { t.Skipf(\"\") }\nfunc (x y) TestMethod(t *testing.T) {}"),
		parse("//go:build windows\n\npackage a\nfunc TestElsewhere(t *testing.T) {}"),
		parse("//go:build linux && planted\n\npackage a\nfunc TestHere(t *testing.T) {}"),
	})
	want := map[string]bool{"TestRuns": true, "TestSkips": false, "TestHelped": false, "TestElsewhere": false, "TestHere": true, "TestByItsName": false, "TestOfLinux": true}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if missing := missingRows(map[int]string{1: "holds", 3: "open"}); len(missing) != rowsOfPromises-2 || missing[0] != 2 {
		t.Errorf("missing are %v", missing)
	}
}
