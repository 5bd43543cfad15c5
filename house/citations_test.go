package house

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	citedSemantics = regexp.MustCompile(`\b[sS]emantics ((?:(?:section )?\d+(?:\.\d+[a-z]?)?(?:, | and | to )?)+)`)
	citedPromises  = regexp.MustCompile(`\b[pP]romises? ((?:\d+(?:, | and | to )?)+)`)
	citedPage      = regexp.MustCompile(`\b([a-z_/0-9-]+\.md)\b`)
	number         = regexp.MustCompile(`\d+(?:\.\d+[a-z]?)?`)
	caseNumber     = regexp.MustCompile(`^\d+(?:\.\d+)?`)
	semanticsTitle = regexp.MustCompile(`(?m)^## (\d+)\. `)
	promisesRow    = regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`)
	quoted         = regexp.MustCompile("`([^`]+)`")
)

// TestCitations: what comments, cases and pages cite of docs/semantics.md and docs/promises.md stands there, and a page
// that code names is in the repository.
func TestCitations(t *testing.T) {
	entries, promised := semanticsEntries(t), promises(t)
	checked := 0
	for file, text := range prose(t) {
		for _, cited := range citedSemantics.FindAllStringSubmatch(text, -1) {
			for _, n := range number.FindAllString(cited[1], -1) {
				if checked++; !entries[n] {
					t.Errorf("%s cites semantics %s, which docs/semantics.md does not have", file, n)
				}
			}
		}
		for _, cited := range citedPromises.FindAllStringSubmatch(text, -1) {
			for _, n := range number.FindAllString(cited[1], -1) {
				if checked++; !promised[n] {
					t.Errorf("%s cites promise %s, which docs/promises.md does not have", file, n)
				}
			}
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, page := range citedPage.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc([]string{page[1], "docs/" + page[1], "spec/" + page[1]}, exists) {
				t.Errorf("%s cites %s, which is not in the repository", file, page[1])
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d citations found", checked)
	}
}

// TestCasesHaveTheirEntry: the number that a case begins with stands in docs/semantics.md, and its first line cites what it holds.
func TestCasesHaveTheirEntry(t *testing.T) {
	entries := semanticsEntries(t)
	for file, text := range prose(t) {
		if !strings.HasPrefix(file, "conformance/testdata/") {
			continue
		}
		n := caseNumber.FindString(path.Base(file))
		if !entries[n] {
			t.Errorf("%s: docs/semantics.md has no entry %q: name the case N.N-what-holds.txtar, after its entry there", file, n)
		}
		if first, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(first, "semantics ") {
			t.Errorf("%s: its first line must cite what it holds, and is %q", file, first)
		}
	}
}

// TestContributingIsTrue: the files that CONTRIBUTING.md and the README name are there, and hold what the tour says.
func TestContributingIsTrue(t *testing.T) {
	text := read(t, "CONTRIBUTING.md")
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(text+read(t, "README.md"), -1) {
		if !strings.HasPrefix(link[1], "https://") && !exists(link[1]) {
			t.Errorf("%s is not there", link[1])
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		if file := row[1]; !regexp.MustCompile("NAME|VERB").MatchString(file) && !exists(file) {
			t.Errorf("%s is not there", file)
		}
	}
	namesTheCode(t, "CONTRIBUTING.md", 8)
	namesTheCode(t, "docs/engine.md", 6)
}

// namesTheCode checks that each file that a page says something is in declares it, and that there are at least so many.
func namesTheCode(t *testing.T, page string, least int) {
	t.Helper()
	places := regexp.MustCompile("`(\\w+)` in\\s+\\[[^]]*\\]\\(([^)]+)\\)").FindAllStringSubmatch(read(t, page), -1)
	if len(places) < least {
		t.Errorf("%s names only %d places of the code", page, len(places))
	}
	for _, place := range places {
		declares := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type )` + place[1] + `\b`)
		if !declares.MatchString(read(t, path.Join(path.Dir(page), place[2]))) {
			t.Errorf("%s: %s does not declare %s", page, place[2], place[1])
		}
	}
}

// semanticsEntries returns the numbers that docs/semantics.md explains.
func semanticsEntries(t *testing.T) map[string]bool {
	t.Helper()
	text := read(t, "docs/semantics.md")
	entries := map[string]bool{}
	for _, m := range semanticsTitle.FindAllStringSubmatch(text, -1) {
		entries[m[1]] = true
	}
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "- **") {
			continue
		}
		title, _, _ := strings.Cut(line[len("- **"):], "**")
		all := number.FindAllString(title, -1)
		for _, n := range all {
			if strings.Contains(n, ".") {
				entries[n] = true
			}
		}
	}
	return entries
}

// promises returns the numbers of the rows of docs/promises.md.
func promises(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, row := range promisesRow.FindAllStringSubmatch(read(t, "docs/promises.md"), -1) {
		for _, n := range number.FindAllString(row[1], -1) {
			all[n] = true
		}
	}
	return all
}

// prose returns the files that cite something, by their path from here.
func prose(t *testing.T) map[string]string {
	t.Helper()
	return texts(t, ".go", ".md", ".lua", ".txtar")
}

// texts returns the files of some extensions.
func texts(t *testing.T, extensions ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		if slices.Contains(extensions, path.Ext(name)) {
			files[filepath.ToSlash(name)] = read(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
