package dsl_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// TestNoFalseAlarms checks the documents of examples, of the specification and of the conformance cases. They do what they are meant to do, so that
// the rules about valid documents with another effect than intended must not report anything. A case that makes such a mistake on purpose is listed
// with the rule.
func TestNoFalseAlarms(t *testing.T) {
	official := "../../shared/spec/examples/"
	onPurpose := map[string][]string{
		// The specification's examples that lack an expression where they mean one, or read a member that does not exist.
		official + "accumulate-room-readings.yaml": {"SW508"}, official + "conditional-task.yaml": {"SW504"}, official + "for.yaml": {"SW508"},
		official + "run-subflow.yaml": {"SW504"}, official + "schedule-event-driven.yaml": {"SW702"}, official + "try-catch-then.yaml": {"SW504"},
		"call_asyncapi/11.10d-while-fails.txtar/workflow.yaml": {"SW507"}, "expression/2.15-names-its-expression-when.txtar/workflow.yaml": {"SW507"},
		"expression/2.2-text-around-an-expression-is-literal.txtar/workflow.yaml": {"SW504"}, "expression/2.3-elsewhere-text-needs-delimiters.txtar/workflow.yaml": {"SW504"},
		"expression/2.4-keys-are-never-evaluated.txtar/workflow.yaml":        {"SW504"},
		"expression/2.4-object-form-of-input-and-export.txtar/workflow.yaml": {"SW504"}, "expression/2.4-object-forms-need-delimiters.txtar/workflow.yaml": {"SW504"},
		"expression/2.7-array-is-not-a-condition.txtar/workflow.yaml": {"SW507"}, "expression/2.7-number-is-not-a-condition.txtar/workflow.yaml": {"SW507"},
		"expression/2.7-object-is-not-a-condition.txtar/workflow.yaml": {"SW507"}, "expression/2.7-text-is-not-a-condition.txtar/workflow.yaml": {"SW507"},
		"listen/14.3-until-not-a-boolean.txtar/workflow.yaml": {"SW507"}, "run_container/10.6b-command-and-arguments.txtar/workflow.yaml": {"SW504"},
		"emit/14.9-attribute-names.txtar/workflow.yaml": {"SW112"},
		"fork/6.6-no-branches.txtar/workflow.yaml":      {"SW134"}, "fork/6.6-no-branches-to-compete.txtar/workflow.yaml": {"SW134"},
		"listen/14.2-all-empty.txtar/workflow.yaml": {"SW134"}, "try/7.1-no-errors-property-means-all.txtar/workflow.yaml": {"SW134"},
		"run_container/10.6k-a-name-that-is-taken.txtar/workflow.yaml": {"SW208"}, "run_shell/10.4c-a-word-is-a-program.txtar/workflow.yaml": {"SW504"},
	}
	documents := mustDocuments(t)
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		w, found := dsl.Parse(name, []byte(documents[name]))
		for _, d := range append(found, interpreter.Check(w)...) {
			if d.Severity != dsl.SeverityInfo && slices.Contains(silentCodes(), d.Code) && !slices.Contains(onPurpose[name], d.Code) {
				t.Errorf("%s: %s", name, describeDiagnostic(d))
			}
		}
	}
}

// TestIdleMemberIsReportedInEveryDocument: the same documents get SW312 after an option of a schedule without effect is added.
func TestIdleMemberIsReportedInEveryDocument(t *testing.T) {
	const idle = "document:\n  metadata: {swrun: {schedule: {max: 2}}}\n"
	changed := 0
	for name, text := range mustDocuments(t) {
		if !strings.Contains(text, "document:\n  dsl:") || strings.Contains(text, "metadata:") {
			continue
		}
		w, _ := dsl.Parse(name, []byte(strings.Replace(text, "document:\n", idle, 1)))
		if changed++; !slices.ContainsFunc(interpreter.Check(w), func(d dsl.Diagnostic) bool { return d.Code == "SW312" }) {
			t.Errorf("%s gets no SW312", name)
		}
	}
	if changed < 40 { // the repository itself contains this number
		t.Errorf("only %d documents were changed", changed)
	}
}

// silentCodes returns the codes of the rules about valid documents with another effect than intended.
func silentCodes() []string {
	return []string{"SW112", "SW126", "SW129", "SW134", "SW209", "SW207", "SW208", "SW312", "SW504", "SW507", "SW508", "SW509", "SW702", "SW709"}
}

// mustDocuments returns the texts of the valid documents, by their names.
func mustDocuments(t *testing.T) map[string]string {
	t.Helper()
	documents := map[string]string{}
	for _, pattern := range []string{"../examples/*.yaml", "../../shared/spec/examples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			documents[file] = string(text)
		}
	}
	cases, err := filepath.Glob("../conformance/testdata/*/*.txtar")
	if err != nil || len(cases) < 100 {
		t.Fatalf("only %d cases (%v)", len(cases), err)
	}
	for _, file := range cases {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range txtar.Parse(text).Files {
			if strings.HasSuffix(part.Name, ".yaml") && strings.Contains(string(part.Data), "document:") {
				documents[strings.TrimPrefix(file, "../conformance/testdata/")+"/"+part.Name] = string(part.Data)
			}
		}
	}
	return documents
}
