package dsl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/errors"
)

// Limits of a document (docs/limits.md).
const (
	maxSize  = 256 << 10
	maxDepth = 64
	maxNodes = 20_000
)

// load reads the text into a tree of nodes. It reports and returns false if there is none to go on with.
func (p *parser) load() bool {
	text := p.src.Text
	if len(text) > maxSize {
		p.atOffset("SW104", 0, fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(text), maxSize))
		return false
	}
	body := text[p.src.lines[0]:]
	p.src.json = bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && json.Valid(body)
	if !p.checkCharacters(text) {
		return false
	}
	var root *yaml.Node
	if p.src.json {
		root = p.loadJSON(text)
	} else {
		root = p.loadYAML(text)
	}
	if root == nil {
		return false
	}
	if p.src.root = p.expand(root); p.src.root == nil {
		return false
	}
	s := &sizeCheck{p: p, reported: map[string]bool{}}
	if !s.check(p.src.root, 0) {
		p.src.root = nil // nothing must go through it
		return false
	}
	return true
}

func (p *parser) checkCharacters(text []byte) bool {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) || len(text) > 1 && (text[0] == 0) != (text[1] == 0) {
		p.atOffset("SW105", 0, "the document is UTF-16; save it as UTF-8")
		return false
	}
	for i := p.src.lines[0]; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			p.atOffset("SW105", i, fmt.Sprintf("the byte 0x%02x is no UTF-8; save the document as UTF-8", text[i]))
			return false
		case r == '\r' && !bytes.HasPrefix(text[i:], []byte("\r\n")), r == 0x2028 || r == 0x2029:
			if p.src.json {
				break
			}
			p.atOffset("SW105", i, fmt.Sprintf("U+%04X breaks a line for some readers and not for others; end lines with a line feed", r))
			return false
		case r == 0xfeff:
			p.atOffset("SW105", i, "a byte order mark stands in the middle of the document; take it out")
			return false
		case r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || r >= 0x80 && r < 0xa0:
			p.atOffset("SW105", i, fmt.Sprintf("the control character U+%04X is not allowed; write it as an escape in double quotes", r))
			return false
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			p.atOffset("SW105", i, fmt.Sprintf("the character U+%04X changes the direction of text, so that a reader sees something else", r))
			return false
		}
		i += size
	}
	return true
}

func (p *parser) loadYAML(text []byte) *yaml.Node {
	text = withoutVersion(text)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	err := decoder.Decode(&document)
	if paired := p.src.withoutSurrogates(text, err); paired != nil {
		decoder = yaml.NewDecoder(bytes.NewReader(paired))
		err = decoder.Decode(&document)
	}
	if err == io.EOF || err == nil && len(document.Content) == 0 {
		p.atOffset("SW101", 0, "the document is empty")
		return nil
	}
	if err != nil {
		if !p.jsonError(text) {
			p.yamlError(decoder, err)
		}
		return nil
	}
	if !p.src.widen(&document) {
		p.atOffset("SW101", 0, "this is no YAML: half of a character stands outside of double quotes")
		return nil
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		at := p.src.start(&second)
		p.atOffset("SW102", at, "a second document begins here; a file holds one workflow")
	case err != io.EOF:
		p.yamlError(decoder, err)
	}
	return document.Content[0]
}

var versionDirective = regexp.MustCompile(`(?m)\A(?:\x{feff})?(?:(?:#.*|%TAG .*|\s*)\r?\n)*%YAML[ \t]+1\.\d`)

// withoutVersion makes a comment of the directive %YAML: the library takes 1.1 only, and this is read as 1.2 whatever the
// document says.
func withoutVersion(text []byte) []byte {
	found := versionDirective.Find(text)
	if found == nil {
		return text
	}
	changed := bytes.Clone(text)
	changed[bytes.LastIndexByte(found, '%')] = '#'
	return changed
}

var jsonStart = regexp.MustCompile(`^\s*\{\s*"`)

// jsonError reports where a text that is no YAML stops being JSON, if that is what it was meant to be.
func (p *parser) jsonError(text []byte) bool {
	var syntax *json.SyntaxError
	if !jsonStart.Match(text) || !errors.As(json.Unmarshal(text, new(any)), &syntax) {
		return false
	}
	p.atOffset("SW101", max(0, int(syntax.Offset)-1), "this is no JSON: "+syntax.Error())
	return true
}

// sizeCheck checks what a document is made of before it is decoded.
type sizeCheck struct {
	p        *parser
	nodes    int
	bytes    int
	reported map[string]bool
}

// check reports what makes a tree too large or too deep, and what is not taken at all, each once. It returns false if
// the rest of the tree is not worth a look.
func (s *sizeCheck) check(n *yaml.Node, depth int) bool {
	s.nodes++
	s.bytes += len(n.Value)
	switch {
	case s.nodes > maxNodes:
		s.report(n, fmt.Sprintf("the document has more than %d values", maxNodes), "split it into several workflows")
		return false
	case depth > maxDepth:
		s.report(n, fmt.Sprintf("the document is nested deeper than %d levels", maxDepth), "name the inner tasks under `use.functions`")
		return false
	case s.bytes > maxSize:
		s.report(n, fmt.Sprintf("the values of the document have more than %d bytes, aliases written out", maxSize), "name what is used often under `use`")
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
	s.p.add(Diagnostic{Code: "SW104", Message: message, Range: s.p.src.span(n), Pointer: s.p.src.pointerTo(n), Help: help})
}

// loadJSON builds the same tree as the YAML library from a JSON text: some JSON strings are no YAML.
func (p *parser) loadJSON(text []byte) *yaml.Node {
	j := &jsonReader{src: p.src, decoder: json.NewDecoder(bytes.NewReader(text[p.src.lines[0]:]))}
	j.decoder.UseNumber()
	return j.value(0)
}

type jsonReader struct {
	src     *Source
	decoder *json.Decoder
}

// value reads the next value of a text that is known to be valid. What is deeper than a document may be is left out,
// but for one node, by which the check of the depth sees it.
func (j *jsonReader) value(depth int) *yaml.Node {
	offset := j.next()
	token, err := j.decoder.Token()
	if err != nil {
		return nil
	}
	position := j.src.position(offset)
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: position.Line, Column: position.Column}
	switch token := token.(type) {
	case json.Delim:
		n.Kind = yaml.MappingNode
		if token == '[' {
			n.Kind = yaml.SequenceNode
		}
		n.Style = yaml.FlowStyle
		for j.decoder.More() && depth <= maxDepth {
			n.Content = append(n.Content, j.value(depth+1))
		}
		_, _ = j.decoder.Token() // the closing delimiter: the text is valid
	case string:
		n.Value, n.Style = token, yaml.DoubleQuotedStyle
	case json.Number:
		n.Value = token.String()
	case bool:
		n.Value = strconv.FormatBool(token)
	case nil:
		n.Value = "null"
	}
	return n
}

// next returns the offset of the next token.
func (j *jsonReader) next() int {
	offset := j.src.lines[0] + int(j.decoder.InputOffset())
	for offset < len(j.src.Text) && strings.IndexByte(" \t\r\n,:", j.src.Text[offset]) >= 0 {
		offset++
	}
	return offset
}
