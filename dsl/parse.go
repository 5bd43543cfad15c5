package dsl

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/shorten"
)

// ReadText reads the text of a document. If the text is too large, it reads just enough for Parse to report that.
func ReadText(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, source.MaxSize+1)) }

// Parse reads a workflow document, YAML or JSON, whose name file is only used in messages. It always returns a tree,
// as complete as the text allows, and all errors of its form, sorted by position.
func Parse(file string, text []byte) (*Workflow, Diagnostics) {
	tree, problems := source.Read(file, text)
	p := newParser(&Source{Tree: tree})
	for _, problem := range problems {
		if problem.Message == source.Empty {
			problem.Help = documentBelow
		}
		p.keep(Diagnostic{
			Code: problem.Code, Message: problem.Message, Range: problem.Range, Pointer: pointerOf(problem.Path), Related: problem.Related, Help: problem.Help,
		})
	}
	w := &Workflow{Source: p.src}
	if tree.Root != nil && !p.otherLanguage(tree.Root) {
		w = p.workflow(tree.Root)
		p.checkQuotes(tree.Root, "")
		if len(problems) == 0 { // in a text that ends too early, a list may only look empty
			p.reportIdle()
		}
	}
	p.dropDoubts()
	p.dropBeforeForeign()
	p.src.tellForeign(p.found)
	p.found.Sort()
	p.src.errorPointers = pointersOf(p.found.Errors())
	return w, p.found
}

// parser decodes one document and collects the diagnostics.
type parser struct {
	src           *Source
	found         Diagnostics
	idles         Diagnostics // about values that do nothing
	severities    map[string]Severity
	reportedEmpty map[*yaml.Node]bool // the empty expressions that were reported: some values are read twice
}

func newParser(s *Source) *parser {
	p := &parser{src: s, severities: map[string]Severity{}, reportedEmpty: map[*yaml.Node]bool{}}
	for _, r := range Rules() {
		p.severities[r.Code] = r.Severity
	}
	return p
}

// add reports d, with the alias by which its text is used.
func (p *parser) add(d Diagnostic) { p.keep(p.src.withAlias(d)) }

// keep reports d with the severity of its rule.
func (p *parser) keep(d Diagnostic) {
	d.File, d.Severity = p.src.File, p.severities[d.Code]
	d.Message, d.Label, d.Help = oneLine(d.Message), oneLine(d.Label), oneLine(d.Help)
	if p.src.HasAnchors() && slices.ContainsFunc(p.found, func(f Diagnostic) bool {
		return f.Code == d.Code && f.Range == d.Range && f.Message == d.Message
	}) {
		return // the same text, used once more
	}
	p.found = append(p.found, d)
}

// reported reports whether an error of a place has been reported.
func (p *parser) reported(at Pointer) bool { return slices.Contains(pointersOf(p.found.Errors()), at) }

// dropDoubts removes the warnings about scalars that look like other values where an error is reported: one mistake is one diagnostic.
func (p *parser) dropDoubts() {
	errors := pointersOf(p.found.Errors())
	p.found = slices.DeleteFunc(p.found, func(d Diagnostic) bool { return d.Code == "SW119" && slices.Contains(errors, d.Pointer) })
}

func pointersOf(found Diagnostics) (all []Pointer) {
	for _, d := range found {
		all = append(all, d.Pointer)
	}
	return all
}

// oneLine makes a text of the document safe to print on one line. It shows invisible characters by their numbers.
func oneLine(text string) string {
	const most = 400
	text = shorten.To(text, most)
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	var shown strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			shown.WriteRune(r)
		} else {
			fmt.Fprintf(&shown, "<U+%04X>", r)
		}
	}
	return shown.String()
}
