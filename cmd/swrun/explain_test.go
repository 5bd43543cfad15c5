package main

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

// TestExplainKnowsEveryCode: swrun explain knows every code that is written anywhere in the program, and every exit code.
func TestExplainKnowsEveryCode(t *testing.T) {
	code := regexp.MustCompile(`"(S[WD]\d{3})"`)
	var codes []string
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			codes = append(codes, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	constants, err := os.ReadFile("exit.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\texit\w+ += (\d+)$`).FindAllStringSubmatch(string(constants), -1) {
		codes = append(codes, m[1])
	}
	codes = append(codes, problemTypes(t)...)
	slices.Sort(codes)
	codes = slices.Compact(codes)
	if len(codes) < 80 {
		t.Fatalf("only %d codes were found: %s", len(codes), codes)
	}
	for _, code := range codes {
		c := capture(nil)
		if got := run([]string{"explain", code}, c.streams); got != exitOK || !strings.Contains(c.stdout.String(), code) || strings.Count(c.stdout.String(), "\n") < 3 {
			t.Errorf("explain %s ends with %d and tells %q%s", code, got, c.stdout.String(), c.stderr.String())
		}
	}
}

// problemTypes returns the types of problems with which the server answers.
func problemTypes(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../server/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`newProblem\([\w.]+, "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	if len(names) < 30 {
		t.Fatalf("only %d problems were found: %s", len(names), names)
	}
	return names
}

// TestOtherNamesMeanVerbs: the other names refer to existing verbs, and are not verbs themselves.
func TestOtherNamesMeanVerbs(t *testing.T) {
	var verbs []string
	for _, c := range (&program{streams: capture(nil).streams}).root().Commands() {
		verbs = append(verbs, c.Name())
	}
	for other, verb := range otherNames() {
		if !slices.Contains(verbs, verb) || slices.Contains(verbs, other) {
			t.Errorf("%q is said to mean %q", other, verb)
		}
		c := capture(nil)
		if code := run([]string{other}, c.streams); code != exitUsage || !strings.Contains(c.stderr.String(), "did you mean "+strconv.Quote(verb)+"?") {
			t.Errorf("swrun %s ends with %d and tells %q", other, code, c.stderr.String())
		}
	}
}
