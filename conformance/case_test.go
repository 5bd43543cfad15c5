package conformance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// testCase is one file of testdata.
type testCase struct {
	name    string
	comment string
	files   map[string]string
}

// ending is the outcome of a run of a case.
type ending struct {
	status  interpreter.Status
	output  any
	fault   *errors.Error
	elapsed time.Duration
	records []interpreter.HistoryEvent
	events  []any
}

// mustCases reads every case.
func mustCases(t *testing.T) []testCase {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases in testdata", err)
	}
	cases := make([]testCase, len(paths))
	for i, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar")
		cases[i] = testCase{name: name, comment: string(archive.Comment), files: map[string]string{}}
		for _, f := range archive.Files {
			cases[i].files[f.Name] = string(f.Data)
		}
	}
	return cases
}

// runs reports whether the case's document is run, and not refused.
func (c testCase) runs() bool {
	_, refused := c.files["diagnostics.txt"]
	return !refused
}

// input returns the case's input, or an empty object.
func (c testCase) input(t *testing.T) any {
	t.Helper()
	text, ok := c.files["input.json"]
	if !ok {
		return map[string]any{}
	}
	return mustDecode(t, text)
}

// lines returns the lines of a file that may be absent.
func (c testCase) lines(file string) []string {
	text := strings.TrimSpace(c.files[file])
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func mustDecode(t *testing.T, text string) any {
	t.Helper()
	v, err := expr.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// endless reports whether an effect does not end on its own.
func (c testCase) endless(e interpreter.Effect) bool {
	lines, path := c.lines("endless.txt"), string(e.Request.Path)
	return slices.Contains(lines, path) || slices.Contains(lines, fmt.Sprintf("%s %d", path, e.ID))
}

// verify compares the outcome of a run with the expected outcome of the case.
func (c testCase) verify(t *testing.T, got ending) {
	t.Helper()
	if want, ok := c.files["output.json"]; ok {
		c.verifyOutput(t, mustDecode(t, want), got)
	} else {
		c.verifyFault(t, got)
	}
	c.verifyRecords(t, got.records)
	c.verifyCounts(t, got.records)
	c.verifyEvents(t, got.events)
	c.verifyElapsed(t, got.elapsed)
}

func (c testCase) verifyOutput(t *testing.T, want any, got ending) {
	t.Helper()
	if got.status != interpreter.StatusCompleted {
		t.Fatalf("the run is %s: %v", got.status, got.fault)
	}
	if diff := diffJSON(t, want, got.output); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func (c testCase) verifyFault(t *testing.T, got ending) {
	t.Helper()
	want, ok := mustDecode(t, c.files["error.json"]).(map[string]any)
	if !ok || got.fault == nil {
		t.Fatalf("the run is %s with %v, want the error %v", got.status, got.output, c.files["error.json"])
	}
	fault := got.fault.Value()
	fault["type"] = errors.Name(got.fault.Type)
	for name, member := range want {
		if diff := diffJSON(t, member, fault[name]); diff != "" {
			t.Errorf("error member %s (-want +got):\n%s\nin %v", name, diff, got.fault)
		}
	}
}

// verifyRecords checks that the wanted records appear in order.
func (c testCase) verifyRecords(t *testing.T, records []interpreter.HistoryEvent) {
	t.Helper()
	var told []string
	for _, r := range records {
		told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s", r.Type, r.Path)))
	}
	rest := told
	for _, want := range c.lines("records.txt") {
		for len(rest) > 0 && rest[0] != want {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Fatalf("the record %q is missing or too early in:\n%s", want, strings.Join(told, "\n"))
		}
		rest = rest[1:]
	}
}

// verifyCounts checks the number of records of a type and pointer.
func (c testCase) verifyCounts(t *testing.T, records []interpreter.HistoryEvent) {
	t.Helper()
	counts := map[string]int{}
	for _, r := range records {
		counts[strings.TrimSpace(fmt.Sprintf("%s %s", r.Type, r.Pointer))]++
	}
	for _, line := range c.lines("counts.txt") {
		number, what, _ := strings.Cut(line, " ")
		if got := fmt.Sprint(counts[what]); got != number {
			t.Errorf("%s records of %s, want %s", got, what, number)
		}
	}
}

// verifyEvents compares the emitted events with the wanted events, which may name fewer attributes.
func (c testCase) verifyEvents(t *testing.T, events []any) {
	t.Helper()
	text, ok := c.files["events.json"]
	if !ok {
		return
	}
	wanted := mustDecode(t, text).([]any)
	if len(wanted) != len(events) {
		t.Fatalf("%d events, want %d: %v", len(events), len(wanted), events)
	}
	for i, want := range wanted {
		for name, attribute := range want.(map[string]any) {
			if diff := diffJSON(t, attribute, events[i].(map[string]any)[name]); diff != "" {
				t.Errorf("event %d, attribute %s (-want +got):\n%s", i, name, diff)
			}
		}
	}
}

// verifyElapsed compares the virtual time of the run; a negative time is unknown.
func (c testCase) verifyElapsed(t *testing.T, got time.Duration) {
	t.Helper()
	text := strings.TrimSpace(c.files["elapsed.txt"])
	if text == "" || got < 0 {
		return
	}
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	if low, high := mustDuration(t, from), mustDuration(t, to); got < low || got > high {
		t.Errorf("the run took %s of virtual time, want %s", got, text)
	}
}

func mustDuration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// verifyDiagnostics compares codes and pointers.
func (c testCase) verifyDiagnostics(t *testing.T, diagnostics dsl.Diagnostics) {
	t.Helper()
	var got []string
	for _, d := range diagnostics {
		got = append(got, fmt.Sprintf("%s %s", d.Code, d.Pointer))
	}
	if diff := cmp.Diff(c.lines("diagnostics.txt"), got); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s\n%v", diff, diagnostics)
	}
}
