package conformance

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rowsOfPromises is how many rows docs/promises.md has.
const rowsOfPromises = 220

var (
	promisesRow = regexp.MustCompile(`(?m)^\| ([0-9][0-9, ]*) \| (.+) \| ([^|]+) \| ([^|]+) \|$`)
	inQuotes    = regexp.MustCompile("`([^`]+)`")
	testName    = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// TestPromises: docs/promises.md has every row, each with one verdict and what belongs to it: tests that exist, or a reason.
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
	for number := 1; number <= rowsOfPromises; number++ {
		if verdicts[number] == "" {
			t.Errorf("docs/promises.md has no row %d", number)
		}
	}
}

// misjudged says what is wrong with the verdict of a row, given its last column.
func misjudged(verdict, by string, tests map[string]bool) (problems []string) {
	names := inQuotes.FindAllStringSubmatch(by, -1)
	switch {
	case !slices.Contains([]string{"holds", "by design not", "open"}, verdict):
		problems = append(problems, "has the verdict "+strconv.Quote(verdict)+", which is none of holds, by design not and open")
	case verdict == "holds" && len(names) == 0:
		problems = append(problems, "names no test that holds it")
	case verdict != "holds" && strings.TrimSpace(by) == "":
		problems = append(problems, "does not say why")
	}
	for _, name := range names {
		isTest := strings.HasPrefix(name[1], "Test")
		if (verdict == "holds" || isTest) && !tests[name[1]] && !isCase(name[1]) {
			problems = append(problems, "names "+name[1]+", which does not exist")
		}
	}
	return problems
}

// isCase reports whether there is a case or a script of that name.
func isCase(name string) bool {
	for _, file := range []string{"testdata/" + name + ".txtar", "../cmd/swrun/testdata/script/" + name} {
		if _, err := os.Stat(file); err == nil && strings.Trim(name, "./") == name {
			return true
		}
	}
	return false
}

// testsOfTheModule returns the names of all tests of the module.
func testsOfTheModule(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range testName.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// TestPromisesAreJudged holds the check itself to rows that are wrong.
func TestPromisesAreJudged(t *testing.T) {
	tests := map[string]bool{"TestThere": true}
	for name, c := range map[string]struct {
		verdict, by string
		problems    int
	}{
		"a test that is there":         {"holds", "`TestThere`", 0},
		"a test that is not":           {"holds", "`TestGone`", 1},
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
