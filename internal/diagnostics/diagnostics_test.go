package diagnostics

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/golden"
	"github.com/swrun/swrun/internal/terminal"
)

// checkoutText is a document with four mistakes.
const checkoutText = `document: { dsl: 1.0.3, namespace: demo, name: checkout, version: 0.1.0 }
do:
  - pay:
      try:
        - charge:
            call: http
            with: { method: post, endpoint: 'https://api.pay.test/charge', body: '${ . }' }
            timeout:
              after: { second: 2 }
      catch:
        errors:
          with:
            type: https://serverlessworkflow.io/spec/1.0.0/errors/timout
        do:
          - note:
              set: { status: '${ .status + }' }
      then: shipp
  - ship: { set: { shipped: true } }
`

// span is a range on one line of checkoutText, which contains only single-byte characters.
func rangeOf(text string, line int, word string) source.Range {
	lines := strings.SplitAfter(text, "\n")
	before := strings.Join(lines[:line-1], "")
	column := strings.Index(lines[line-1], word)
	start := source.Position{Line: line, Column: column + 1, Offset: len(before) + column}
	end := start
	end.Column += len([]rune(word))
	end.Offset += len(word)
	return source.Range{Start: start, End: end}
}

func checkoutDiagnostics() dsl.Diagnostics {
	const file = "checkout.yaml"
	at := func(line int, word string) source.Range { return rangeOf(checkoutText, line, word) }
	return dsl.Diagnostics{
		{
			Code: "SW110", File: file, Message: "`second` is not a duration unit", Range: at(9, "second"), Label: "did you mean `seconds`?",
			Pointer: "/do/0/pay/try/0/charge/timeout/after",
			Help:    "allowed: days hours minutes seconds milliseconds, or ISO 8601 such as PT2S",
			Fix:     []source.Edit{{Range: at(9, "second"), NewText: "seconds", Safe: true}},
		},
		{
			Code: "SW501", File: file, Message: "jq: expected a value after `+`", Range: at(16, "}' }"), Label: "the expression ends here",
			Pointer: "/do/0/pay/catch/do/0/note/set/status",
		},
		{
			Code: "SW201", File: file, Message: "`then: shipp` names no task in this list", Range: at(17, "shipp"),
			Label:   "did you mean `ship` (line 18)? tasks here: pay, ship; or continue, exit, end",
			Pointer: "/do/0/pay/then", Fix: []source.Edit{{Range: at(17, "shipp"), NewText: "ship", Safe: true}},
		},
		{
			Code: "SW401", File: file, Message: "this catch can never match: `timout` is not an error type", Range: at(13, "timout"),
			Label: "did you mean `timeout`?", Pointer: "/do/0/pay/catch/errors/with/type",
			Related: []source.Related{{Range: at(9, "after"), Label: "the timeout you probably want to catch"}},
			Fix:     []source.Edit{{Range: at(13, "timout"), NewText: "timeout", Safe: true}},
		},
	}
}

func TestHumanDiagnostics(t *testing.T) {
	r := Report{
		Text: []byte(checkoutText), Diagnostics: checkoutDiagnostics(), Hidden: 2,
		FixCommand: "swrun lint --fix checkout.yaml",
	}
	r.Diagnostics[1].Range.End.Column = r.Diagnostics[1].Range.Start.Column + 1
	for _, c := range []struct {
		name string
		look terminal.Style
	}{
		{"plain", terminal.Style{}},
		{"color", terminal.Style{Color: true}},
		{"ascii", terminal.Style{ASCII: true}},
		{"narrow", terminal.Style{Width: 60}},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden.Match(t, "diagnostics_"+c.name+".txt", Human(r, c.look))
		})
	}
}

func TestExcerptAlignsMarks(t *testing.T) {
	for _, c := range []struct {
		name, line, word, want string
	}{
		{"a tab before the mark", "\tset: x", "set", " 1 |     set: x\n   |     ^^^\n"},
		{"a tab in the middle", "ab\tset", "set", " 1 | ab  set\n   |     ^^^\n"},
		{"wide characters before the mark", "名前: set", "set", " 1 | 名前: set\n   |       ^^^\n"},
		{"wide characters marked", "a: 名前", "名前", " 1 | a: 名前\n   |    ^^^^\n"},
		{"control characters are shown, not sent", "a: \x1b[31m set", "set", " 1 | a: \\x1b[31m set\n   |             ^^^\n"},
		{"text that changes direction is shown", "a: \u202e set", "set", " 1 | a: \\u202e set\n   |           ^^^\n"},
		{"bytes that are no text", "a: \xff set", "set", " 1 | a: \\xff set\n   |         ^^^\n"},
		{"a carriage return at the end", "set: 1\r", "set", " 1 | set: 1\n   | ^^^\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := dsl.Diagnostic{Code: "SW101", File: "f", Message: "m", Range: wordRange(c.line, c.word)}
			got := Human(Report{Text: []byte(c.line), Diagnostics: dsl.Diagnostics{d}}, terminal.Style{})
			_, excerpt, _ := strings.Cut(got, "\n")
			excerpt, _, _ = strings.Cut(excerpt, "1 error")
			if diff := cmp.Diff(c.want, excerpt); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// wordRange counts columns in characters, as the contract of Position requires.
func wordRange(line, word string) source.Range {
	before, _, _ := strings.Cut(line, word)
	start := source.Position{Line: 1, Column: len([]rune(before)) + 1, Offset: len(before)}
	end := source.Position{Line: 1, Column: start.Column + len([]rune(word)), Offset: len(before) + len(word)}
	return source.Range{Start: start, End: end}
}

func TestLongLinesAreCutAroundTheMark(t *testing.T) {
	line := strings.Repeat("x", 1000) + " set " + strings.Repeat("y", 1000)
	d := dsl.Diagnostic{Code: "SW101", File: "f", Message: "m", Range: wordRange(line, "set")}
	got := Human(Report{Text: []byte(line), Diagnostics: dsl.Diagnostics{d}}, terminal.Style{})
	rows := strings.Split(got, "\n")
	if w := terminal.Width(rows[1]); w > sourceWidth+10 {
		t.Errorf("the source line is %d columns wide", w)
	}
	caret := strings.Index(rows[2], "^^^")
	if shown := string([]rune(rows[1])[caret : caret+3]); shown != "set" {
		t.Errorf("the mark stands under %q, want set", shown)
	}
}

func TestMarksOutsideTheText(t *testing.T) {
	for _, r := range []source.Range{
		{},
		{Start: source.Position{Line: 99, Column: 1}, End: source.Position{Line: 99, Column: 2}},
		{Start: source.Position{Line: 1, Column: 99}, End: source.Position{Line: 1, Column: 100}},
		{Start: source.Position{Line: 1, Column: 3}, End: source.Position{Line: 2, Column: 1}},
	} {
		d := dsl.Diagnostic{Code: "SW101", File: "f", Message: "m", Range: r}
		got := Human(Report{Text: []byte("do: x\n"), Diagnostics: dsl.Diagnostics{d}}, terminal.Style{})
		if !strings.HasPrefix(got, "error[SW101]: m") {
			t.Errorf("%v: got %q", r, got)
		}
	}
}

func TestOnlyTwentyAreShown(t *testing.T) {
	var ds dsl.Diagnostics
	for i := range 25 {
		ds = append(ds, dsl.Diagnostic{Code: fmt.Sprintf("SW%d", 100+i), File: "f", Message: "m", Range: wordRange("do: x", "do")})
	}
	got := Human(Report{Text: []byte("do: x"), Diagnostics: ds}, terminal.Style{})
	if n := strings.Count(got, "error["); n != 20 {
		t.Errorf("got %d findings, want 20", n)
	}
	if !strings.Contains(got, "… and 5 more\n25 errors · ") {
		t.Errorf("the rest is not counted:\n%s", got)
	}
}

func TestMachineDiagnostics(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(*bytes.Buffer, dsl.Diagnostics) error
	}{
		{"json", func(b *bytes.Buffer, ds dsl.Diagnostics) error {
			return api.Write(b, map[string]any{"diagnostics": api.Diagnostics(ds)})
		}},
		{"sarif", func(b *bytes.Buffer, ds dsl.Diagnostics) error {
			for i := range ds { // the titles of real rules are not a subject of this test
				ds[i].Code = "X" + ds[i].Code
			}
			return WriteSARIF(b, ds)
		}},
		{"github", func(b *bytes.Buffer, ds dsl.Diagnostics) error { return WriteGitHub(b, ds) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := c.write(&b, checkoutDiagnostics()); err != nil {
				t.Fatal(err)
			}
			golden.Match(t, "diagnostics."+c.name, b.String())
		})
	}
}

func TestGitHubAnnotationsCannotBeBroken(t *testing.T) {
	var b bytes.Buffer
	d := dsl.Diagnostic{Code: "SW101", File: "a,b:c.yaml", Message: "one\n::error::two 100%"}
	if err := WriteGitHub(&b, dsl.Diagnostics{d}); err != nil {
		t.Fatal(err)
	}
	want := "::error file=a%2Cb%3Ac.yaml,line=0,endLine=0,col=0,endColumn=0,title=SW101::one%0A::error::two 100%25\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFixes(t *testing.T) {
	edits, n := safeEdits(checkoutDiagnostics())
	if n != 3 {
		t.Errorf("got %d findings to fix, want 3", n)
	}
	got := string(applyEdits([]byte(checkoutText), edits))
	want := strings.NewReplacer("second:", "seconds:", "shipp\n", "ship\n", "timout", "timeout").Replace(checkoutText)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOverlappingFixesAreMadeOneAtATime(t *testing.T) {
	edit := func(from, to int) []source.Edit {
		return []source.Edit{{Range: source.Range{Start: source.Position{Offset: from}, End: source.Position{Offset: to}}, NewText: "X", Safe: true}}
	}
	edits, n := safeEdits(dsl.Diagnostics{{Fix: edit(0, 4)}, {Fix: edit(2, 6)}, {Fix: edit(8, 9)}})
	if n != 2 {
		t.Errorf("got %d findings, want 2", n)
	}
	if got := string(applyEdits([]byte("0123456789"), edits)); got != "X4567X9" {
		t.Errorf("got %q", got)
	}
}

func FuzzHumanDiagnostics(f *testing.F) {
	f.Add("do:\n\t- a: \x1b[31m 名\r\n", 2, 4, 2, 7)
	f.Add(strings.Repeat("é", 500), 1, 300, 1, 310)
	f.Fuzz(func(t *testing.T, text string, line, column, endLine, endColumn int) {
		r := source.Range{Start: source.Position{Line: line, Column: column}, End: source.Position{Line: endLine, Column: endColumn}}
		d := dsl.Diagnostic{Code: "SW101", File: text, Message: text, Label: text, Help: text, Range: r, Related: []source.Related{{Range: r, Label: text}}}
		got := Human(Report{Text: []byte(text), Diagnostics: dsl.Diagnostics{d}}, terminal.Style{})
		for _, line := range strings.Split(got, "\n") {
			if terminal.Printable(line) != line {
				t.Errorf("%q could drive a terminal", line)
			}
		}
	})
}

// TestSummaryNamesTheFirstError: the summary names the code of the first of the gravest diagnostics, regardless of the places of the others.
func TestSummaryNamesTheFirstError(t *testing.T) {
	for want, all := range map[string]dsl.Diagnostics{
		"1 error · 2 warnings · swrun explain SW2":  {{Code: "SW1", Severity: dsl.SeverityWarning}, {Code: "SW2"}, {Code: "SW3", Severity: dsl.SeverityWarning}},
		"2 errors · swrun explain SW1":              {{Code: "SW1"}, {Code: "SW2"}},
		"1 warning · 1 hint · swrun explain SW2":    {{Code: "SW1", Severity: dsl.SeverityHint}, {Code: "SW2", Severity: dsl.SeverityWarning}},
		"1 hint hidden (--hints)":                   nil,
		"1 error · 25 warnings · swrun explain SW9": append(slices.Repeat(dsl.Diagnostics{{Code: "SW1", Severity: dsl.SeverityWarning}}, 25), dsl.Diagnostic{Code: "SW9"}),
	} {
		r := Report{Diagnostics: all}
		if all == nil {
			r.Hidden = 1
		}
		if got := summary(r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
