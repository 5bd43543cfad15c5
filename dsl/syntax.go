package dsl

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// syntaxError is what the YAML library says of a text that it cannot read: what is wrong at problem, while it read what
// begins at context.
type syntaxError struct {
	message          string
	problem, context int // offsets
}

// yamlError reports an error of the YAML library at the line that is wrong, which mostly is not the one it names.
func (p *parser) yamlError(decoder *yaml.Decoder, err error) {
	e := p.src.syntaxError(decoder, err)
	offset, message, help := p.src.explain(e)
	if lines := p.src.tabbed(e); lines > 0 {
		offset, message, help = lines-1, "the line is indented with a tab", "YAML is indented with spaces, not with tabs"
	}
	if i := bytes.Index(p.src.Line(p.src.position(e.problem).Line), []byte("\u00a0")); i >= 0 {
		offset, message = p.src.lines[p.src.position(e.problem).Line-1]+i, "the line holds a space that does not break (U+00A0), which is no space in YAML"
		help = "write a plain space"
	}
	at := p.src.position(offset)
	end := p.src.position(max(at.Offset, p.src.endOfLine(at.Offset, len(p.src.Text))))
	p.add(Diagnostic{Code: "SW101", Message: "this is no YAML: " + message, Range: Range{at, end}, Help: help})
}

// syntaxError reads the marks that the library keeps for itself: its text names a line at most, and seldom the right one.
func (s *Source) syntaxError(decoder *yaml.Decoder, err error) syntaxError {
	e := syntaxError{message: strings.TrimPrefix(err.Error(), "yaml: ")}
	scanner := reflect.ValueOf(decoder).Elem()
	for range 2 {
		if scanner = scanner.FieldByName("parser"); scanner.Kind() == reflect.Pointer {
			scanner = scanner.Elem()
		}
		if !scanner.IsValid() || scanner.Kind() != reflect.Struct {
			return e
		}
	}
	if problem := scanner.FieldByName("problem"); problem.Kind() == reflect.String && problem.Len() > 0 {
		e.message = problem.String()
	}
	e.problem, e.context = s.mark(scanner, "problem_mark"), s.mark(scanner, "context_mark")
	return e
}

// mark returns the offset of one of the library's marks, which count lines and columns from zero.
func (s *Source) mark(scanner reflect.Value, name string) int {
	mark := scanner.FieldByName(name)
	if mark.Kind() != reflect.Struct || !mark.FieldByName("line").CanInt() || !mark.FieldByName("column").CanInt() {
		return s.lines[0]
	}
	line := int(mark.FieldByName("line").Int()) + 1
	return s.start(&yaml.Node{Line: line, Column: s.widened(line, int(mark.FieldByName("column").Int())+1)})
}

// tabbed returns the offset after the tab in the indentation of the line of the problem, or 0.
func (s *Source) tabbed(e syntaxError) int {
	line := s.position(e.problem).Line
	text := s.Line(line)
	if i := bytes.IndexByte(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], '\t'); i >= 0 {
		return s.lines[line-1] + i + 1
	}
	return 0
}

var (
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	gluedColon    = regexp.MustCompile(`^\s*(?:- +)*["']?[\w.-]+["']?:[^\s/:][^:]*$`)
	bareWord      = regexp.MustCompile(`^\s*(?:- +)*[\w.-]+\s*$`)
)

// explain returns where the mistake behind an error of the library is, what it is, and what to do.
func (s *Source) explain(e syntaxError) (offset int, message, help string) {
	has := func(text string) bool { return strings.Contains(e.message, text) }
	if m := unknownAnchor.FindStringSubmatch(e.message); m != nil {
		return s.aliasWithout(m[1]), fmt.Sprintf("there is no anchor `&%s` before this alias", m[1]), "put text that begins with * in quotes"
	}
	structure := s.scan(e.problem)
	if quote := structure.lateQuote(s, e.problem); quote != nil && !has("escape") {
		return quote.at, "the quote that opens here is not closed on its line, but in line " + fmt.Sprint(s.position(quote.end).Line),
			"close it, or write '' for a quote inside single quotes"
	}
	switch {
	case has("unexpected end of stream"), has("unexpected document indicator"):
		return e.context, "the quote that opens here is not closed", "close it at the end of the text"
	case has("expected ',' or"):
		return s.inBrackets(e)
	case has("node content"):
		if open := structure.open; len(open) > 0 {
			e.context = open[len(open)-1]
			return s.inBrackets(e)
		}
		return e.problem, "a value is missing here", "put text that begins with a bracket, a comma or a percent sign in quotes"
	case has("mapping values are not allowed"):
		return s.surplusColon(e)
	case has("could not find expected ':'"):
		return s.missingColon(e.context)
	case has("did not find expected key"), has("expected '-' indicator"):
		return s.misplaced(e, structure)
	case has("block sequence entries are not allowed"):
		return e.problem, "a list cannot begin on the line of its key", "begin each item of a list on a line of its own, indented below the key"
	case has("<document start>"):
		return e.problem, "text stands after the end of the document", "a file holds one workflow: remove what follows the line `...`"
	case has("cannot start any token"):
		return e.problem, fmt.Sprintf("text cannot begin with `%s`", s.character(e.problem)), "put the text in quotes"
	case has("tag"), has("'!'"), has("'>'"), has("URI escaped"):
		return e.problem, "this is no tag", "put text that begins with ! in quotes"
	case has("alphabetic or numeric"):
		return e.problem, "an anchor or alias needs a name", "put text that begins with & or * in quotes"
	case has("invalid Unicode"):
		return e.problem, "this escape is half of a character, or none", `write one escape of eight digits, such as \U0001F600`
	case has("incompatible"):
		return e.problem, "this version of YAML is not known", "write `%YAML 1.2`, or leave the line out"
	case has("directive"), has("%"), has("version number"), has("non-alphabetical"), has("expected whitespace"):
		return e.problem, "this is no directive", "put text that begins with % in quotes; of directives, %YAML and %TAG are known"
	case has("indentation indicator"):
		return e.problem, "a block of text is indented by 1 to 9 spaces", ""
	case has("escape"), has("hexdecimal"):
		return e.problem, "this is no escape that double quotes know", `write \\ for a backslash, or use single quotes, which know no escapes`
	case has("expected comment or line break"):
		return e.problem, "nothing may follow the sign of a block of text on its line", "begin the text on the next line"
	}
	return e.problem, e.message, ""
}

func (s *Source) character(offset int) string {
	for _, r := range string(s.Text[min(offset, len(s.Text)):]) {
		return string(r)
	}
	return ""
}

// aliasWithout returns where the first alias stands that has no anchor before it.
func (s *Source) aliasWithout(name string) int {
	alias := regexp.MustCompile(`(?:^|[\s,\[{])(\*` + regexp.QuoteMeta(name) + `)(?:[\s,\]}]|$)`)
	for _, at := range alias.FindAllSubmatchIndex(s.Text, -1) {
		if !bytes.Contains(s.Text[:at[2]], []byte("&"+name)) {
			return at[2]
		}
	}
	return max(0, bytes.Index(s.Text, []byte("*"+name)))
}

func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// before returns the number of the last line before a line that has more than a comment, or 0.
func (s *Source) before(line int) int {
	for line--; line > 0; line-- {
		if text := bytes.TrimSpace(s.Line(line)); len(text) > 0 && text[0] != '#' {
			return line
		}
	}
	return 0
}

// content returns a line without the comment at its end.
func (s *Source) content(line int) []byte {
	text := s.Line(line)
	if i := bytes.Index(text, []byte(" #")); i >= 0 {
		text = text[:i]
	}
	return bytes.TrimRight(text, " \t")
}

// startOf returns the offset of the first character of a line that is no white space.
func (s *Source) startOf(line int) int {
	return min(s.lines[line-1]+indentOf(s.Line(line)), len(s.Text))
}

// inBrackets explains what is wrong in a list or object in brackets, which begins at the context.
func (s *Source) inBrackets(e syntaxError) (int, string, string) {
	problem, context := s.position(e.problem).Line, s.position(e.context).Line
	bracket, found := s.character(e.context), s.character(e.problem)
	inside := e.problem < len(s.Text) && (problem == context || indentOf(s.Line(problem)) > indentOf(s.Line(context)))
	switch before := s.Text[s.lines[problem-1]:min(max(e.problem, s.lines[problem-1]), len(s.Text))]; {
	case inside && (bytes.Contains(before, []byte("${")) || found == "{" && bytes.HasSuffix(before, []byte("$"))):
		return e.problem, "an expression stands inside of brackets without quotes", "put the expression in quotes: '${ ... }'"
	case !inside:
		return e.context, fmt.Sprintf("the bracket `%s` that opens here is not closed", bracket), "close it, and indent what is inside of it"
	case found == "]" || found == "}":
		return e.problem, fmt.Sprintf("`%s` closes a bracket of another kind: `%s` is open", found, bracket), ""
	}
	return e.problem, "a comma is missing before this", "put commas between what stands in brackets, and text with brackets or commas in quotes"
}

// surplusColon explains a colon where no key can be.
func (s *Source) surplusColon(e syntaxError) (int, string, string) {
	line := s.position(e.problem).Line
	start := s.lines[line-1]
	text := s.Text[start:min(max(e.problem, start), len(s.Text))]
	if bytes.Contains(text, []byte(": ")) {
		return e.problem, "the text of a value holds a colon and a space", "put text that holds `: ` in quotes"
	}
	before := s.before(line)
	if before > 0 && !bytes.Contains(s.content(before), []byte(":")) {
		return s.startOf(before), "a colon is missing after the key", "write `key:`, and its value behind it or indented below"
	}
	if before > 0 && gluedColon.Match(s.content(before)) {
		return s.missingColon(s.startOf(before))
	}
	return s.startOf(line), "the line is indented deeper than the line before it, which has a value already", "indent the properties of an object equally"
}

// missingColon explains a line without a key at an offset.
func (s *Source) missingColon(offset int) (int, string, string) {
	line := s.position(offset).Line
	if gluedColon.Match(s.content(line)) {
		return s.startOf(line), "a space is missing after the colon", "write `key: value`"
	}
	return s.startOf(line), "a colon is missing after the key", "write `key:`, and its value behind it or indented below"
}

// reportNotNested explains what stands where the next key or item should.
func (s *Source) misplaced(e syntaxError, structure *structure) (int, string, string) {
	problem, context := s.position(e.problem), s.position(e.context)
	before := s.before(problem.Line)
	found := s.character(e.problem)
	first := problem.Offset == s.startOf(problem.Line)
	switch {
	case !first && structure.quoted(problem.Offset, s):
		return e.problem, "text stands after the closing quote", "put the whole text in quotes, and write '' for a quote inside single quotes"
	case found == "}" || found == "]":
		return e.problem, fmt.Sprintf("`%s` closes nothing", found), "remove it, or open a bracket before it"
	case found == ",":
		return e.problem, "a comma stands after the value", "remove it: commas stand only between what is in brackets"
	case first && before > 0 && gluedColon.Match(s.content(before)):
		return s.missingColon(s.startOf(before))
	case first && before > 0 && bareWord.Match(s.content(before)) && indentOf(s.Line(before)) < problem.Column-1:
		return s.missingColon(s.startOf(before))
	case problem.Column == context.Column && found == "-":
		return e.problem, "a list item stands among the keys of an object", "indent it below the key of its list"
	case problem.Column == context.Column:
		return e.problem, "a key stands among the items of a list", "begin the item with `- `, or indent the key as its own level"
	}
	return e.problem, "the line is indented unlike its neighbours", "indent the properties of an object, and the items of a list, equally"
}
