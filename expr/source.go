package expr

import (
	"strconv"
	"strings"

	"github.com/swrun/swrun/internal/delimited"
)

const (
	maxSource  = 64 << 10 // bytes
	maxTokens  = 10_000   // bounds every recursion of the parser's results
	maxNesting = 200      // open brackets
)

// SyntaxError explains why a text is not a valid expression.
type SyntaxError struct {
	Offset int    // in bytes, into the text including the delimiters
	Token  string // the offending token, empty at the end of the text
	Msg    string
}

// Error returns the message.
func (e *SyntaxError) Error() string { return e.Msg }

// Delimited reports whether all of s, without white space around it, is one expression: ${ ... } (semantics 2.1).
func Delimited(s string) bool { return delimited.Is(s) }

// source is the text of an expression, and its place in the text that Compile got.
type source struct {
	text   string // the program, without delimiters and white space around it
	start  int    // offset of text in the source that Compile got
	tokens []token
	open   []bracket // brackets that the text does not close
}

func newSource(given string) (*source, error) {
	text := strings.TrimSpace(given)
	s := &source{start: strings.Index(given, text)}
	if Delimited(text) {
		text = delimited.Inside(text)
		s.start += len("${")
	}
	s.text = strings.TrimSpace(text)
	s.start += strings.Index(text, s.text)
	if len(s.text) > maxSource {
		return nil, s.fail(0, "", "the expression is longer than "+strconv.Itoa(maxSource>>10)+" KiB")
	}
	if s.text == "" {
		return nil, s.fail(0, "", "the expression is empty: write . for the input itself")
	}
	return s, s.scan()
}

// fail returns an error at an offset in the program.
func (s *source) fail(offset int, name, message string) *SyntaxError {
	return &SyntaxError{Offset: s.start + min(max(offset, 0), len(s.text)), Token: name, Msg: message}
}

type kind int

const (
	punctuation kind = iota
	identifier
	variable
	field // .name
	quoted
	numeral
	format
)

// token is a word of the program. The text of strings is one token for each part between interpolations.
type token struct {
	kind  kind
	text  string
	start int
	key   bool // an identifier or variable at the place of an object's key
}

// bracket is an open bracket, or an open interpolation of a string.
type bracket struct {
	open string // ( [ { or \(
	at   int
	key  bool // in braces: a key comes next
}

// scanner splits a program into tokens as jq's own lexer does, which keeps no positions. It never fails: an unknown character is punctuation, which
// the parser rejects.
type scanner struct {
	*source
	at int
}

func (s *source) scan() error {
	c := &scanner{source: s}
	for c.skip(); c.at < len(s.text); c.skip() {
		c.next()
		if len(s.tokens) > maxTokens {
			return s.fail(c.at, "", "the expression has more than "+strconv.Itoa(maxTokens)+" words")
		}
		if len(c.open) > maxNesting {
			return s.fail(c.at-1, c.open[maxNesting].open, "the expression is nested deeper than "+strconv.Itoa(maxNesting)+" levels")
		}
	}
	return nil
}

// skip skips white space and comments; a backslash continues a comment on the next line, as in jq.
func (c *scanner) skip() {
	for ; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case ' ', '\t', '\n', '\r':
		case '#':
			for c.at < len(c.text) && c.text[c.at] != '\n' && c.text[c.at] != '\r' {
				if c.text[c.at] == '\\' {
					c.skipContinuation()
				}
				c.at++
			}
			c.at--
		default:
			return
		}
	}
}

// skipContinuation skips the text after a backslash in a comment.
func (c *scanner) skipContinuation() {
	rest := c.text[c.at+1:]
	switch {
	case strings.HasPrefix(rest, "\r\n"):
		c.at += 2
	case strings.HasPrefix(rest, "\\"), strings.HasPrefix(rest, "\n"), strings.HasPrefix(rest, "\r"):
		c.at++
	}
}

func (c *scanner) next() {
	start, b := c.at, c.text[c.at]
	switch {
	case isLetter(b):
		c.word()
		c.add(identifier, start)
	case b == '$' && isLetter(c.peek(1)):
		c.at++
		c.word()
		c.add(variable, start)
	case b == '@' && (isLetter(c.peek(1)) || isDigit(c.peek(1))):
		c.at++
		c.word()
		c.add(format, start)
	case b == '.' && isLetter(c.peek(1)):
		c.at++
		c.name()
		c.add(field, start)
	case isDigit(b), b == '.' && isDigit(c.peek(1)):
		c.number()
		c.add(numeral, start)
	case b == '"':
		c.at++
		c.quote(start)
	default:
		c.punctuation()
	}
}

func (c *scanner) peek(n int) byte {
	if c.at+n < len(c.text) {
		return c.text[c.at+n]
	}
	return 0
}

func (c *scanner) name() {
	for isLetter(c.peek(0)) || isDigit(c.peek(0)) {
		c.at++
	}
}

// word skips a name, with a module before it if there is one.
func (c *scanner) word() {
	c.name()
	if strings.HasPrefix(c.text[c.at:], "::") && isLetter(c.peek(2)) {
		c.at += 2
		c.name()
	}
}

func (c *scanner) number() {
	for c.at < len(c.text) {
		b := c.text[c.at]
		sign := (b == '+' || b == '-') && (c.text[c.at-1]|0x20) == 'e'
		if !isDigit(b) && b != '.' && b|0x20 != 'e' && !(sign && c.at > 0) {
			return
		}
		c.at++
	}
}

// quote skips a string up to its end or to an interpolation.
func (c *scanner) quote(start int) {
	for ; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '"':
			c.at++
			c.add(quoted, start)
			return
		case '\\':
			c.at++
			if c.peek(0) == '(' {
				c.at++
				c.add(quoted, start)
				c.open = append(c.open, bracket{open: `\(`, at: c.at - 2})
				return
			}
		}
	}
	c.at = len(c.text)
	c.add(quoted, start)
}

func (c *scanner) punctuation() {
	start := c.at
	for _, long := range []string{"//=", "..", "|=", "+=", "-=", "*=", "/=", "//", "%=", "==", "!=", ">=", "<=", "&&", "||"} {
		if strings.HasPrefix(c.text[c.at:], long) {
			c.at += len(long)
			c.add(punctuation, start)
			return
		}
	}
	c.at++
	for c.at < len(c.text) && c.text[c.at]&0xC0 == 0x80 { // the rest of a character
		c.at++
	}
	text := c.text[start:c.at]
	c.add(punctuation, start)
	switch text {
	case "(", "[", "{":
		c.open = append(c.open, bracket{open: text, at: start, key: text == "{"})
	case ",":
		if top := c.top(); top != nil && top.open == "{" {
			top.key = true
		}
	case ")", "]", "}":
		top := c.top()
		if top == nil {
			return
		}
		inText := top.open == `\(` && text == ")"
		c.open = c.open[:len(c.open)-1]
		if inText {
			c.quote(c.at)
		}
	}
}

func (c *scanner) top() *bracket {
	if len(c.open) == 0 {
		return nil
	}
	return &c.open[len(c.open)-1]
}

func (c *scanner) add(k kind, start int) {
	t := token{kind: k, text: c.text[start:c.at], start: start}
	if top := c.top(); top != nil && top.key {
		t.key = k == identifier || k == variable
		top.key = false
	}
	c.tokens = append(c.tokens, t)
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' }
func isDigit(b byte) bool  { return b >= '0' && b <= '9' }

func isKeyword(text string) bool {
	switch text {
	case "or", "and", "module", "import", "include", "def", "as", "label", "break", "null", "true", "false", "if", "then",
		"elif", "else", "end", "try", "catch", "reduce", "foreach":
		return true
	}
	return false
}
