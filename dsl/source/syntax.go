package source

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// syntaxError is an error of the YAML library. It found the problem while it read the collection or scalar that begins at context.
type syntaxError struct {
	message          string
	problem, context int // offsets
}

// yamlError reports an error of the YAML library at the line of the mistake, which the library seldom names.
func (r *reader) yamlError(decoder *yaml.Decoder, err error) {
	e := r.syntaxError(decoder, err)
	if isTooDeep(err) {
		r.reportTooDeep(e.problem)
		return
	}
	line := r.PositionOf(e.problem).Line
	offset, message, help := r.explain(e)
	if begin := r.openExpression(line); begin >= 0 {
		offset, message, help = begin, "an expression of several lines begins here without quotes", "put it in quotes, or write `|` after the colon and the expression indented below"
	}
	if tab := r.tabbed(e); tab > 0 {
		offset, message, help = tab-1, "the line is indented with a tab", "YAML is indented with spaces, not with tabs"
	}
	if i := bytes.Index(r.Line(line), []byte("\u00a0")); i >= 0 {
		offset, message = r.LineStart(line)+i, "the line holds a space that does not break (U+00A0), which is not a space in YAML"
		help = "write a plain space"
	}
	at := r.PositionOf(offset)
	end := r.PositionOf(max(at.Offset, r.endOfLine(at.Offset, len(r.Text))))
	r.report(Problem{Code: "SW101", Message: "this is not YAML: " + message, Range: Range{at, end}, Help: help})
}

// openExpression returns the offset of a `${` that ends its line, shortly before a line or on it, and that is neither quoted nor closed; -1 if there
// is no such `${`.
func (t *Tree) openExpression(line int) int {
	const near = 3
	for i := line; i > 0 && i > line-near; i-- {
		text := t.content(i)
		if at := bytes.Index(text, []byte(": ${")); at >= 0 && !bytes.Contains(text[at:], []byte("}")) {
			return t.startOf(i) + bytes.Index(text, []byte("${")) - indentOf(text)
		}
	}
	return -1
}

// syntaxError reads the library's private marks: its message names a line at most, and seldom the right one.
func (t *Tree) syntaxError(decoder *yaml.Decoder, err error) syntaxError {
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
	e.problem, e.context = t.mark(scanner, "problem_mark"), t.mark(scanner, "context_mark")
	return e
}

// mark returns the offset of one of the library's marks, which count lines and columns from zero.
func (t *Tree) mark(scanner reflect.Value, name string) int {
	mark := scanner.FieldByName(name)
	if mark.Kind() != reflect.Struct || !mark.FieldByName("line").CanInt() || !mark.FieldByName("column").CanInt() {
		return t.lines[0]
	}
	line := int(mark.FieldByName("line").Int()) + 1
	return t.OffsetOf(&yaml.Node{Line: line, Column: t.widened(line, int(mark.FieldByName("column").Int())+1)})
}

// tabbed returns the offset after the tab in the indentation of the line of the problem, or 0.
func (t *Tree) tabbed(e syntaxError) int {
	line := t.PositionOf(e.problem).Line
	text := t.Line(line)
	if i := bytes.IndexByte(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], '\t'); i >= 0 {
		return t.lines[line-1] + i + 1
	}
	return 0
}

var (
	unknownAnchor = lazyregexp.New(`^unknown anchor '(.*)' referenced$`)
	gluedColon    = lazyregexp.New(`^\s*(?:- +)*["']?[\w.-]+["']?:[^\s/:][^:]*$`)
	// foreignComment matches a comment where no value can be: at the beginning of a line, and after the end of a value.
	foreignComment = lazyregexp.New(`(?:^|[,{}\[\]"])\s*(//\s|//$|/\*)`)
	bareWord       = lazyregexp.New(`^\s*(?:- +)*[\w.-]+\s*$`)
)

// explain returns the place of the mistake behind an error of the library, its description, and its remedy.
func (t *Tree) explain(e syntaxError) (offset int, message, help string) {
	if m := unknownAnchor().FindStringSubmatch(e.message); m != nil {
		return t.aliasWithout(m[1]), fmt.Sprintf("there is no anchor `&%s` before this alias", m[1]), "put text that begins with * in quotes"
	}
	structure := t.scan(e.problem)
	if quote := structure.lateQuote(t, e.problem); quote != nil && !e.has("escape") {
		return quote.at, "the quote that opens here is not closed on its line, but in line " + fmt.Sprint(t.PositionOf(quote.end).Line),
			"close it, or write '' for a quote inside single quotes"
	}
	if at := t.otherComment(e); at >= 0 {
		return at, "this is no comment of YAML", "a comment begins with `#`, in a document of JSON too"
	}
	switch {
	case e.has("unexpected end of stream", "unexpected document indicator"):
		return e.context, "the quote that opens here is not closed", "close it at the end of the text"
	case e.has("expected ',' or"):
		return t.inBrackets(e)
	case e.has("node content") && len(structure.open) > 0:
		e.context = structure.open[len(structure.open)-1]
		return t.inBrackets(e)
	case e.has("mapping values are not allowed"):
		return t.surplusColon(e)
	case e.has("could not find expected ':'"):
		return t.missingColon(e.context)
	case e.has("did not find expected key", "expected '-' indicator"):
		return t.misplaced(e, structure)
	case e.has("cannot start any token") && strings.HasPrefix(string(t.Text[e.problem:]), "```"):
		return e.problem, "text cannot begin with ```", "leave out the lines with ``` around the document"
	case e.has("cannot start any token"):
		return e.problem, fmt.Sprintf("text cannot begin with `%s`", t.character(e.problem)), "put the text in quotes"
	}
	for _, known := range explanations() {
		if e.has(known.words...) {
			return e.problem, known.message, known.help
		}
	}
	return e.problem, e.message, ""
}

// has reports whether the library's message has one of the words.
func (e syntaxError) has(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(e.message, word) })
}

// explanation explains a problem of the library at the place that the library reports.
type explanation struct {
	words         []string // of the library's message
	message, help string
}

// explanations returns the explanations in order: the first one whose words are in the library's message applies.
func explanations() []explanation {
	return []explanation{
		{[]string{"node content"}, "a value is missing here", "put text that begins with a bracket, a comma or a percent sign in quotes"},
		{[]string{"block sequence entries are not allowed"}, "a list cannot begin on the line of its key",
			"begin each item of a list on a line of its own, indented below the key"},
		{[]string{"<document start>"}, "text stands after the end of the document", "a file holds one workflow: remove what follows the line `...`"},
		{[]string{"tag", "'!'", "'>'", "URI escaped"}, "this is not a tag", "put text that begins with ! in quotes"},
		{[]string{"alphabetic or numeric"}, "an anchor or alias needs a name", "put text that begins with & or * in quotes"},
		{[]string{"invalid Unicode"}, "this escape is half of a character, or not a character", `write one escape of eight digits, such as \U0001F600`},
		{[]string{"incompatible"}, "this version of YAML is not known", "write `%YAML 1.2`, or leave the line out"},
		{[]string{"directive", "%", "version number", "non-alphabetical", "expected whitespace"}, "this is not a directive",
			"put text that begins with % in quotes; of directives, %YAML and %TAG are known"},
		{[]string{"indentation indicator"}, "a block of text is indented by 1 to 9 spaces", ""},
		{[]string{"escape", "hexdecimal"}, "double quotes do not know this escape",
			`write \\ for a backslash, or use single quotes, which have no escapes`},
		{[]string{"expected comment or line break"}, "nothing may follow the sign of a block of text on its line", "begin the text on the next line"},
	}
}

func (t *Tree) character(offset int) string {
	for _, r := range string(t.Text[min(offset, len(t.Text)):]) {
		return string(r)
	}
	return ""
}

// aliasWithout returns the offset of the first alias without an anchor before it.
func (t *Tree) aliasWithout(name string) int {
	alias := regexp.MustCompile(`(?:^|[\t,\[{])(\*` + regexp.QuoteMeta(name) + `)(?:[\t,\]}]|$)`)
	for _, at := range alias.FindAllSubmatchIndex(t.Text, -1) {
		if !bytes.Contains(t.Text[:at[2]], []byte("&"+name)) {
			return at[2]
		}
	}
	return max(0, bytes.Index(t.Text, []byte("*"+name)))
}

func indentOf(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// before returns the number of the last line before a line that has more than a comment, or 0.
func (t *Tree) before(line int) int {
	for line--; line > 0; line-- {
		if text := bytes.TrimSpace(t.Line(line)); len(text) > 0 && text[0] != '#' {
			return line
		}
	}
	return 0
}

// content returns a line without the comment at its end.
func (t *Tree) content(line int) []byte {
	text := t.Line(line)
	if i := bytes.Index(text, []byte(" #")); i >= 0 {
		text = text[:i]
	}
	return bytes.TrimRight(text, " \t")
}

// startOf returns the offset of the first character of a line that is not white space.
func (t *Tree) startOf(line int) int {
	return min(t.lines[line-1]+indentOf(t.Line(line)), len(t.Text))
}

// hasComment reports whether a line that continues after a # has a bracket in the comment.
func hasComment(line []byte) bool {
	_, comment, found := bytes.Cut(line, []byte(" #"))
	return found && bytes.ContainsAny(comment, "]}")
}

// inBrackets explains a problem in a list or object in brackets, which begins at the context.
func (t *Tree) inBrackets(e syntaxError) (int, string, string) {
	problem, context := t.PositionOf(e.problem).Line, t.PositionOf(e.context).Line
	bracket, found := t.character(e.context), t.character(e.problem)
	inside := e.problem < len(t.Text) && (problem == context || indentOf(t.Line(problem)) > indentOf(t.Line(context)))
	switch before := t.Text[t.lines[problem-1]:min(max(e.problem, t.lines[problem-1]), len(t.Text))]; {
	case inside && (bytes.Contains(before, []byte("${")) || found == "{" && bytes.HasSuffix(before, []byte("$"))):
		return e.problem, "an expression stands inside of brackets without quotes", "put the expression in quotes: '${ ... }'"
	case !inside && hasComment(t.Line(context)):
		return e.context, fmt.Sprintf("the bracket `%s` that opens here is not closed: `#` begins a comment", bracket), "put text that begins with # in quotes"
	case !inside:
		return e.context, fmt.Sprintf("the bracket `%s` that opens here is not closed", bracket), "close it, and indent what is inside of it"
	case found == "]" || found == "}":
		return e.problem, fmt.Sprintf("`%s` closes a bracket of another kind: `%s` is open", found, bracket), ""
	}
	return e.problem, "a comma is missing before this", "put commas between what stands in brackets, and text with brackets, commas or `: ` in quotes"
}

// otherComment returns the offset of the first comment of another language in the lines of a mistake, or -1: after // or between /* and */.
func (t *Tree) otherComment(e syntaxError) int {
	if !e.has("could not find expected ':'", "expected ',' or", "mapping values are not allowed") {
		return -1
	}
	last := t.PositionOf(e.problem).Line
	for line := t.PositionOf(e.context).Line; line <= last; line++ {
		if m := foreignComment().FindSubmatchIndex(t.Line(line)); m != nil {
			return t.LineStart(line) + m[2]
		}
	}
	return -1
}

// surplusColon explains a colon where no key can be.
func (t *Tree) surplusColon(e syntaxError) (int, string, string) {
	line := t.PositionOf(e.problem).Line
	start := t.lines[line-1]
	text := t.Text[start:min(max(e.problem, start), len(t.Text))]
	if bytes.Contains(text, []byte(": ")) {
		return e.problem, "the text of a value holds a colon and a space", "put text that holds `: ` in quotes"
	}
	before := t.before(line)
	if before > 0 && !bytes.Contains(t.content(before), []byte(":")) {
		return t.startOf(before), "a colon is missing after the key", "write `key:`, and its value after it or indented below"
	}
	if before > 0 && gluedColon().Match(t.content(before)) {
		return t.missingColon(t.startOf(before))
	}
	return t.startOf(line), "the line is indented deeper than the line before it, which has a value already", "indent the properties of an object equally"
}

// missingColon explains a line without a key at an offset.
func (t *Tree) missingColon(offset int) (int, string, string) {
	line := t.PositionOf(offset).Line
	if gluedColon().Match(t.content(line)) {
		return t.startOf(line), "a space is missing after the colon", "write `key: value`"
	}
	return t.startOf(line), "a colon is missing after the key", "write `key:`, and its value after it or indented below"
}

// misplaced explains a problem in the place of a key or an item.
func (t *Tree) misplaced(e syntaxError, structure *structure) (int, string, string) {
	problem, context := t.PositionOf(e.problem), t.PositionOf(e.context)
	before := t.before(problem.Line)
	found := t.character(e.problem)
	first := problem.Offset == t.startOf(problem.Line)
	switch {
	case !first && structure.quoted(problem.Offset, t):
		return e.problem, "text stands after the closing quote", "put the whole text in quotes, and write '' for a quote inside single quotes"
	case found == "}" || found == "]":
		return e.problem, fmt.Sprintf("`%s` closes nothing", found), "remove it, or open a bracket before it"
	case found == ",":
		return e.problem, "a comma stands after the value", "remove it: commas stand only between what is in brackets"
	case first && before > 0 && gluedColon().Match(t.content(before)):
		return t.missingColon(t.startOf(before))
	case first && before > 0 && bareWord().Match(t.content(before)) && indentOf(t.Line(before)) < problem.Column-1:
		return t.missingColon(t.startOf(before))
	case problem.Column == context.Column && found == "-":
		return e.problem, "a list item stands among the keys of an object", "indent it below the key of its list"
	case problem.Column == context.Column:
		return e.problem, "a key stands among the items of a list", "begin the item with `- `, or indent the key as its own level"
	}
	return e.problem, "the line is not indented like the lines around it", "indent the properties of an object, and the items of a list, equally"
}
