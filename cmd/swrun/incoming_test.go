package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// variants returns the columns of the table: unusual properties of incoming data.
func variants() []string {
	return []string{
		"another charset", "UTF-16", "byte order mark", "not UTF-8", "null", "absent", "empty", "empty values", "large integer", "1e400", "long fraction",
		"unknown members", "other media types", "several headers", "line breaks of Windows",
	}
}

// incoming is a row of the table: a way of incoming data.
type incoming struct {
	name  string
	cells map[string]incomingCell // one for each variant
	// open prepares the way, and returns a function that sends a sample and returns the result: the output of a run as JSON, or "!TYPE: DETAIL" for an error.
	open func(t *testing.T) func(*testing.T, sample) string
}

// incomingCell is the result of a variant on a way.
type incomingCell struct {
	samples  []sample
	notThere string // why the way does not have the variant, if there are no samples
	section  string // of docs/semantics.md that explains why the way differs from 11.3
}

// sample is one piece of incoming data.
type sample struct {
	head string // the part before the body: headers, or the name of a file
	body string
	want string              // the output, as JSON; or "!TYPE: " and a part of the error's detail
	wire func(string) string // changes the whole data, if the body is a part of it
}

func comes(samples ...sample) incomingCell { return incomingCell{samples: samples} }

func nothingOf(reason string) incomingCell { return incomingCell{notThere: reason} }

// as sets the section that explains a difference.
func (c incomingCell) as(section string) incomingCell {
	c.section = section
	return c
}

// waysIn returns the rows of the table.
func waysIn() []incoming {
	return slices.Concat(callsIn(), messagesIn(), filesIn(), outputsIn(), startsIn(), sourcesIn())
}

// TestIncoming sends every variant on every way, through the command to the output of a run. A value that is changed without an error fails it,
// unless a section of docs/semantics.md allows the change.
func TestIncoming(t *testing.T) {
	semantics, err := os.ReadFile("../../docs/semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	incomingEngine(t)
	for _, way := range waysIn() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			for named := range maps.Keys(way.cells) {
				if !slices.Contains(variants(), named) {
					t.Errorf("the table has no column %q", named)
				}
			}
			send := way.open(t)
			for _, variant := range variants() {
				c := way.cells[variant]
				t.Run(variant, func(t *testing.T) { c.check(t, string(semantics), send) })
			}
		})
	}
}

func (c incomingCell) check(t *testing.T, semantics string, send func(*testing.T, sample) string) {
	if (len(c.samples) == 0) == (c.notThere == "") {
		t.Error("the cell needs either samples, or a reason why there are none")
	}
	if c.section != "" && !strings.Contains(semantics, "- **"+c.section+" ") {
		t.Errorf("docs/semantics.md has no section %s", c.section)
	}
	for _, s := range c.samples {
		if got := send(t, s); got != s.want && !s.failed(got) {
			t.Errorf("%.80q %.80q\ngot  %s\nwant %s", s.head, s.body, got, s.want)
		}
	}
}

// failed reports whether a result is the expected error.
func (s sample) failed(got string) bool {
	kind, part, is := strings.Cut(s.want, ": ")
	return is && kind[0] == '!' && strings.HasPrefix(got, kind+": ") && strings.Contains(got, part)
}

// headers calls add for each line of the head that is a header.
func (s sample) headers(add func(name, value string)) {
	for line := range strings.Lines(s.head) {
		if name, value, is := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); is {
			add(name, value)
		}
	}
}

// sent returns the whole data of a text that contains the body.
func (s sample) sent(text string) string {
	if s.wire == nil {
		return text
	}
	return s.wire(text)
}

// asUTF16 returns a text in UTF-16 of little endian, with its byte order mark.
func asUTF16(text string) string {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return string(b)
}

// asLatin1 returns a text in ISO 8859-1.
func asLatin1(text string) string {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		b = append(b, byte(r))
	}
	return string(b)
}

func marked(text string) string { return byteOrderMark + text }

const incomingDocument = "document: {dsl: 1.0.3, namespace: demo, name: incoming, version: 1.0.0}\n"

// performed runs the tasks of a document in this process.
func performed(t *testing.T, tasks string, args ...string) string {
	t.Helper()
	return ran(t, "", append([]string{mustWriteFile(t, "incoming.yaml", incomingDocument+tasks)}, args...)...)
}

// ran runs a document with a text as standard input, and returns the result in the form of open.
func ran(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	c := capture(nil)
	c.now, c.in = time.Now, strings.NewReader(stdin)
	if run(append([]string{"run", "--progress", "none", "--errors", "json"}, args...), c.streams) != exitOK {
		return failureOf(c.stderr.Bytes())
	}
	return compacted(c.stdout.Bytes())
}

// compacted returns JSON without white space, and anything else unchanged.
func compacted(text []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return string(text)
	}
	return b.String()
}

// failureOf returns a problem in the form of open.
func failureOf(text []byte) string {
	var problem struct{ Type, Title, Detail string }
	if err := json.Unmarshal(text, &problem); err != nil {
		return "!" + string(text)
	}
	if problem.Type == "about:blank" {
		return "!" + problem.Title + ": " + problem.Detail
	}
	return "!" + path.Base(problem.Type) + ": " + problem.Detail
}
