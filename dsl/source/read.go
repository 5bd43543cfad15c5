package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// Limits of a document (docs/limits.md).
const (
	MaxSize  = 256 << 10
	MaxDepth = 64
	MaxNodes = 20_000
)

// Empty is the message about a text without any value.
const Empty = "the document is empty"

const (
	tooDeep = "the document is nested deeper than %d levels"
	flatter = "nest it less; tasks inside of others can be named under `use.functions`"
	smaller = "put scripts, schemas and functions into files of their own, or parts of it into workflows that `run: { workflow: ... }` starts; no option raises this limit"
)

// Problem is a mistake of the text: it cannot be read, or not as a whole.
type Problem struct {
	Code    string // of its rule, such as SW101
	Message string
	Range   Range
	Path    []string // keys and indices to the node, if it is in the tree
	Related []Related
	Help    string
}

// Read reads a text, whose name file is only used in messages. The tree has no root if it cannot be used at all.
func Read(file string, text []byte) (*Tree, []Problem) {
	r := &reader{Tree: newTree(file, text)}
	if len(text) > MaxSize {
		at := r.PositionOf(0)
		r.report(Problem{Code: "SW104", Message: fmt.Sprintf("the document has more than %d bytes", MaxSize), Range: Range{at, at}, Help: smaller})
		return r.Tree, r.problems
	}
	body := text[r.lines[0]:]
	r.json = bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && json.Valid(body)
	if r.checkCharacters() {
		r.readRoot()
	}
	return r.Tree, r.problems
}

// reader reads one text and collects the problems.
type reader struct {
	*Tree
	problems []Problem
}

func (r *reader) report(p Problem) { r.problems = append(r.problems, p) }

func (r *reader) reportAt(code string, offset int, message string) {
	at := r.PositionOf(offset)
	r.report(Problem{Code: code, Message: message, Range: Range{at, at}})
}

// readRoot reads the nodes, and replaces aliases and merge keys. It leaves no root if the tree is too large to visit.
func (r *reader) readRoot() {
	if r.json {
		r.Root = r.readJSON()
	} else {
		r.Root = r.readYAML()
	}
	if r.Root != nil {
		r.Root = r.expand(r.Root)
	}
	size := &sizeCheck{r: r, reported: map[string]bool{}}
	if r.Root != nil && !size.check(r.Root, 0) {
		r.Root = nil
	}
}

// checkCharacters reports the first character that is not allowed in a document.
func (r *reader) checkCharacters() bool {
	text := r.Text
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) || len(text) > 1 && (text[0] == 0) != (text[1] == 0) {
		r.reportAt("SW105", 0, "the document is UTF-16; save it as UTF-8")
		return false
	}
	for i := r.lines[0]; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			r.reportAt("SW105", i, fmt.Sprintf("the byte 0x%02x is not UTF-8; save the document as UTF-8", text[i]))
			return false
		case c == '\r' && !bytes.HasPrefix(text[i:], []byte("\r\n")), c == 0x2028 || c == 0x2029:
			if r.json {
				break
			}
			r.reportAt("SW105", i, fmt.Sprintf("U+%04X breaks a line for some readers and not for others; end lines with a line feed", c))
			return false
		case c == 0xfeff:
			r.reportAt("SW105", i, "a byte order mark stands in the middle of the document; take it out")
			return false
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f || c >= 0x80 && c < 0xa0:
			r.reportAt("SW105", i, fmt.Sprintf("the control character U+%04X is not allowed; write it as an escape in double quotes", c))
			return false
		case c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069:
			r.reportAt("SW105", i, fmt.Sprintf("the character U+%04X changes the direction of text, so that a reader sees something else", c))
			return false
		}
		i += size
	}
	return true
}

func (r *reader) readYAML() *yaml.Node {
	text := withoutVersion(r.Text)
	document, decoder, err := r.decode(text)
	if err == io.EOF || err == nil && len(document.Content) == 0 {
		r.reportAt("SW101", 0, Empty)
		return nil
	}
	if err != nil {
		if !r.jsonError(text) {
			r.yamlError(decoder, err)
		}
		return nil
	}
	if !r.widen(document) {
		r.reportAt("SW101", 0, "this is not YAML: half of a character, or the escape of a slash, stands outside of double quotes")
		return nil
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		at := r.OffsetOf(&second)
		r.reportAt("SW102", at, "a second document begins here; a file holds one workflow")
	case err != io.EOF:
		r.yamlError(decoder, err)
	}
	return document.Content[0]
}

var versionDirective = lazyregexp.New(`(?m)\A(?:\x{feff})?(?:(?:#.*|%TAG .*|\s*)\r?\n)*%YAML[ \t]+1\.\d`)

// withoutVersion makes a comment of the directive %YAML: the library accepts only 1.1, while documents are always read as 1.2.
func withoutVersion(text []byte) []byte {
	found := versionDirective().Find(text)
	if found == nil {
		return text
	}
	changed := bytes.Clone(text)
	changed[bytes.LastIndexByte(found, '%')] = '#'
	return changed
}

var jsonStart = lazyregexp.New(`^\s*\{\s*"`)

// jsonError reports the first syntax error of a text that is not YAML and was probably meant to be JSON.
func (r *reader) jsonError(text []byte) bool {
	var syntax *json.SyntaxError
	if !jsonStart().Match(text) || !errors.As(json.Unmarshal(text, new(any)), &syntax) {
		return false
	}
	offset := max(0, int(syntax.Offset)-1)
	if isTooDeep(syntax) {
		r.reportTooDeep(offset)
		return true
	}
	at := r.PositionOf(offset)
	r.report(Problem{Code: "SW101", Message: "this is not JSON: " + syntax.Error(), Help: jsonHelp(text, offset), Range: Range{at, at}})
	return true
}

// jsonHelp returns the help for a comment at an offset, which JSON does not have, or "".
func jsonHelp(text []byte, offset int) string {
	if offset < len(text) && text[offset] == '/' {
		return "JSON has no comments: leave it out, or write the document as YAML, where `#` begins one"
	}
	return ""
}

// isTooDeep reports whether the reader of YAML or of JSON rejected a text because of its depth: both do at 10000 levels.
func isTooDeep(err error) bool { return strings.Contains(err.Error(), "exceeded max depth") }

// reportTooDeep reports a text that was not read to its end, as sizeCheck reports a tree that is too deep.
func (r *reader) reportTooDeep(offset int) {
	at := r.PositionOf(offset)
	r.report(Problem{Code: "SW104", Message: fmt.Sprintf(tooDeep, MaxDepth), Range: Range{at, at}, Help: flatter})
}

// sizeCheck checks the size of a document before it is decoded.
type sizeCheck struct {
	r        *reader
	nodes    int
	bytes    int
	reported map[string]bool
}

// check reports a tree that is too large or too deep, and tags that are not allowed, each once. It returns false if it did not visit the whole tree.
func (s *sizeCheck) check(n *yaml.Node, depth int) bool {
	s.nodes++
	s.bytes += len(n.Value)
	switch {
	case s.nodes > MaxNodes:
		s.report(n, fmt.Sprintf("the document has more than %d values", MaxNodes), "split it into several workflows")
		return false
	case depth > MaxDepth:
		s.report(n, fmt.Sprintf(tooDeep, MaxDepth), flatter)
		return false
	case s.bytes > MaxSize:
		s.report(n, fmt.Sprintf("the values of the document have more than %d bytes, aliases written out", MaxSize), "name what is used often under `use`")
		return false
	case n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str":
		s.report(n, fmt.Sprintf("the tag `%s` is not allowed: a document holds JSON values only", n.Tag), "leave it out; `!!str` makes text of a value, as quotes do")
	}
	for _, c := range n.Content {
		if !s.check(c, depth+1) {
			return false
		}
	}
	return true
}

func (s *sizeCheck) report(n *yaml.Node, message, help string) {
	if s.reported[message] {
		return
	}
	s.reported[message] = true
	path := s.r.pathTo(n)
	problem := Problem{Code: "SW104", Message: message, Range: s.r.RangeOf(n), Path: path, Help: help}
	if alias, ok := s.r.AliasOn(path); ok {
		problem.Related = []Related{alias}
	}
	s.r.report(problem)
}
