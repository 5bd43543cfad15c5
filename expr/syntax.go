package expr

import (
	"errors"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/swrun/swrun/internal/shorten"
)

// parse returns the program's tree.
func (s *source) parse() (*gojq.Query, error) {
	query, err := gojq.Parse(s.text)
	if err != nil {
		return nil, s.explain(err)
	}
	if len(query.Imports) > 0 || query.Meta != nil {
		at := s.find("import", "include", "module")
		return nil, s.fail(at.start, at.text, at.text+" is not available: expressions cannot use modules")
	}
	if query.Term == nil && query.Left == nil {
		return nil, s.fail(len(s.text), "", "expected a value at the end of the expression")
	}
	return query, nil
}

// find returns the first token that is one of the words.
func (s *source) find(words ...string) token {
	for _, t := range s.tokens {
		for _, word := range words {
			if t.text == word {
				return t
			}
		}
	}
	return token{}
}

// explain returns an understandable error for one of the parser, at the start of the offending token.
func (s *source) explain(err error) *SyntaxError {
	var parsing *gojq.ParseError
	if !errors.As(err, &parsing) {
		return s.fail(0, "", strings.TrimPrefix(err.Error(), "gojq: "))
	}
	text := err.Error()
	if strings.HasPrefix(text, "unterminated") {
		return s.fail(s.lastText(), `"`, `missing " at the end of the text`)
	}
	if strings.HasPrefix(text, "invalid escape") {
		return s.fail(parsing.Offset-len(parsing.Token), parsing.Token, "unknown escape "+parsing.Token+` in a text: write \\ for a backslash`)
	}
	if strings.HasPrefix(text, "invalid token") {
		return s.fail(parsing.Offset-len(parsing.Token), parsing.Token, quote(parsing.Token)+" is neither a number nor a name")
	}
	at, previous := s.tokenAt(parsing.Offset - len(parsing.Token))
	if parsing.Token == "" && parsing.Offset >= len(s.text) {
		return s.fail(len(s.text), "", s.unexpectedEnd())
	}
	if at.text == "" {
		at = token{text: parsing.Token, start: parsing.Offset - len(parsing.Token)}
	}
	return s.fail(at.start, at.text, unexpected(at, previous))
}

// lastText returns the beginning of the last text.
func (s *source) lastText() int {
	for i := len(s.tokens) - 1; i >= 0; i-- {
		if s.tokens[i].kind == quoted {
			return s.tokens[i].start
		}
	}
	return 0
}

// tokenAt returns the token at an offset and the one before it.
func (s *source) tokenAt(offset int) (at, previous token) {
	for _, t := range s.tokens {
		if t.start+len(t.text) > offset {
			return t, previous
		}
		previous = t
	}
	return token{}, previous
}

// unexpectedEnd returns a message about the missing part at the end of the text.
func (s *source) unexpectedEnd() string {
	last := s.tokens[len(s.tokens)-1]
	if wantsValue(last) {
		return "expected a value after " + quote(last.text)
	}
	if n := len(s.open); n > 0 {
		return `missing "` + closing(s.open[n-1].open) + `" for "` + s.open[n-1].open + `"`
	}
	for _, word := range []string{"if", "then", "elif", "else"} {
		if s.find(word).text != "" && s.find("end").text == "" {
			return `missing "end" for "if"`
		}
	}
	return "the expression ends too early after " + quote(last.text)
}

func closing(open string) string {
	switch open {
	case "[":
		return "]"
	case "{":
		return "}"
	}
	return ")"
}

func unexpected(at, previous token) string {
	switch {
	case at.text == "'":
		return `unexpected ': put text in double quotes`
	case at.text == "&&" || previous.text == "&&":
		return `unexpected &&: write "and"`
	case at.text == "||" || at.text == "|" && previous.text == "|":
		return `unexpected ||: write "or"`
	case at.text == "!":
		return `unexpected !: write "| not"`
	case at.text == "=" && (previous.text == "==" || previous.text == "!="):
		return `unexpected =: write ` + previous.text
	case previous.text == "":
		return "unexpected " + quote(at.text) + " at the start of the expression"
	case wantsValue(previous):
		return "expected a value after " + quote(previous.text) + ", got " + quote(at.text)
	}
	return "unexpected " + quote(at.text) + " after " + quote(previous.text)
}

// quote returns a token for a message. A long token is shortened. For a text before an interpolation, only \( is shown.
func quote(text string) string {
	if strings.HasPrefix(text, `"`) {
		if strings.HasSuffix(text, `\(`) {
			return `\(`
		}
		if len(text) > maxShown {
			return "a text"
		}
		return text
	}
	return `"` + shorten.To(text, maxShown) + `"`
}

const maxShown = 40

// wantsValue reports whether a value must follow the token.
func wantsValue(t token) bool {
	switch t.kind {
	case punctuation:
		switch t.text {
		case ")", "]", "}", ".", "..", "?", "'":
			return false
		}
		return true
	case identifier:
		switch t.text {
		case "and", "or", "if", "then", "elif", "else", "reduce", "foreach", "try", "catch":
			return !t.key
		}
	case quoted:
		return strings.HasSuffix(t.text, `\(`)
	}
	return false
}
