package house

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// list is a table of CONTRIBUTING.md with the files that are touched when something is added, and an example of what is added.
type list struct {
	of      string
	example *strings.Replacer // the file of the example for one of the list
	names   *regexp.Regexp    // what names the example
	among   func(string) bool // the files where the name means the example; nil for all
	others  []string          // files that name the example, and would not have to name another one
}

func lists() []list {
	return []list{
		{
			of: "a store", example: strings.NewReplacer("NAME", "bolt"), names: regexp.MustCompile(`boltstore|file:PATH|scheme == "file"`),
			others: []string{
				"cmd/swrun/bench.go",          // does not measure in a file that has runs
				"runtime/kvstore/database.go", // says in what it is kept
				"store_url_test.go",           // URLs of files
			},
		},
		{
			of: "a verb", example: strings.NewReplacer("VERB", "history"), names: regexp.MustCompile(`"history\b|historyCommand|(?m)^    swrun history`),
			among: isVerbs,
		},
		{
			of: "a language of scripts", example: strings.NewReplacer(), names: regexp.MustCompile(`(?i)python`),
			others: []string{
				"examples/activity/worker_test.go", "examples/call_mcp.yaml", "examples/call_http.yaml", "examples/call_openapi.yaml", "examples/timeout_call.yaml", "examples/examples_test.go",
				"faults/kinds_test.go",
				"dsl/testdata/valid/everything.yaml",                                                 // any language
				"dsl/testdata/other_scripts.txtar", "dsl/testdata/mistakes/foreign_characters.txtar", // code with characters of other scripts
				"redact/spelling.go", "redact/redact_test.go", // how Python spells a secret in HTML
			},
		},
	}
}

// isVerbs reports whether a file is about verbs. Tests may give any verb; those that must give all of them see to that by themselves.
func isVerbs(file string) bool {
	return strings.HasPrefix(file, "cmd/swrun/") && !strings.HasSuffix(file, "_test.go") || path.Ext(file) == ".md"
}

// TestFilesOfTheOthers: the files that name a store, a verb and a language of scripts are those that CONTRIBUTING.md lists for
// adding one, and those are there.
func TestFilesOfTheOthers(t *testing.T) {
	all := texts(t, ".go", ".md", ".yaml", ".txtar", ".json", ".sh")
	tables := section(t, "Adding a store, a verb, a language of scripts")
	for _, l := range lists() {
		t.Run(l.of, func(t *testing.T) {
			_, table, _ := strings.Cut(tables, "| "+l.of+" |")
			table, _, _ = strings.Cut(table, "\n\n")
			var listed []string
			for _, file := range mustRows(t, table) {
				if file = l.example.Replace(file); !exists(file) {
					t.Errorf("%s is missing: CONTRIBUTING.md says what it holds", file)
				}
				listed = append(listed, file)
			}
			naming := l.naming(all)
			for _, file := range naming {
				inListed := slices.ContainsFunc(listed, func(row string) bool { return file == row || strings.HasPrefix(file, row+"/") })
				if !inListed && !slices.Contains(l.others, file) {
					t.Errorf("%s names the example of %s: add it to the list in CONTRIBUTING.md, or to the others here", file, l.of)
				}
			}
			for _, file := range l.others {
				if !slices.Contains(naming, file) {
					t.Errorf("%s does not name the example of %s any more", file, l.of)
				}
			}
		})
	}
}

// naming returns the files that name the example, but those of its own package, this one and the list itself, and records of what
// was decided.
func (l list) naming(all map[string]string) (files []string) {
	own := l.example.Replace("NAMEstore")
	for _, file := range slices.Sorted(maps.Keys(all)) {
		if path.Dir(file) == own || file == "house/lists_test.go" || file == "CONTRIBUTING.md" || path.Dir(file) == "docs/decisions" {
			continue
		}
		if (l.among == nil || l.among(file)) && l.names.MatchString(all[file]) {
			files = append(files, file)
		}
	}
	return files
}
