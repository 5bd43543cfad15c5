package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/golden"
	"github.com/swrun/swrun/internal/terminal"
)

// TestRulesForPeople: the exact output of validate and lint for the bad documents of every rule.
func TestRulesForPeople(t *testing.T) {
	var files []string
	for _, folder := range []string{"../../dsl/testdata", "../../dsl/testdata/rules"} {
		found, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no documents in %s: %v", folder, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, ".fixed.yaml") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			report := humanReport(parseText(name, text), dsl.SeverityInfo, terminal.Style{})
			golden.Match(t, filepath.Join("rules", strings.TrimSuffix(name, ".yaml")+".txt"), report)
		})
	}
}
