package dsl

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// lookalikes are pairs of a letter of another script and the letter of keywords that it resembles.
const lookalikes = "аaеeоoрpсcуyхxіiѕsјjԁdһhԛqԝwοoνvιiϲcϳj"

// plainRune returns the character of keywords that a character resembles: a letter, a hyphen or a space. It is negative for an invisible character.
func plainRune(r rune) rune {
	switch {
	case r <= unicode.MaxASCII:
		return r
	case unicode.Is(unicode.Cf, r):
		return -1
	case unicode.Is(unicode.Zs, r):
		return ' '
	case r >= 0x2010 && r <= 0x2015 || r == 0x2212:
		return '-'
	case r >= 0xff01 && r <= 0xff5e: // of full width
		return r - 0xff01 + '!'
	}
	if i := strings.IndexRune(lookalikes, r); i >= 0 && i+utf8.RuneLen(r) < len(lookalikes) {
		if next := lookalikes[i+utf8.RuneLen(r)]; next <= unicode.MaxASCII {
			return rune(next)
		}
	}
	return r
}

// plainText returns the ASCII text that a text resembles, as far as possible.
func plainText(text string) string { return strings.Map(plainRune, text) }

// asSeen returns the name as a reader sees it.
func asSeen(name string) string { return strings.TrimSpace(strings.TrimLeft(plainText(name), "- ")) }

// foreignIn returns the help for a text with a character that resembles another character, or is invisible; "" for a text without one, and for a text
// that is meant to be in another script.
func foreignIn(text string) string {
	plain := plainText(text)
	if plain == text || strings.ContainsFunc(plain, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(text[strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }):])
	switch meant := plainRune(r); meant {
	case -1:
		return fmt.Sprintf("remove the character U+%04X, which is invisible", r)
	case ' ':
		return fmt.Sprintf("write a plain space in the place of U+%04X", r)
	default:
		if unicode.IsLetter(meant) && !strings.ContainsFunc(text, func(r rune) bool { return r <= unicode.MaxASCII && unicode.IsLetter(r) }) {
			return "" // a word of that script, all of whose letters look like others
		}
		return fmt.Sprintf("write a plain `%c` in the place of U+%04X, which looks like it", meant, r)
	}
}

// tellForeign adds to the diagnostics about a text with a foreign character the help to replace it.
func (s *Source) tellForeign(found Diagnostics) {
	for i, d := range found {
		text := s.textIn(d)
		if help := foreignIn(text); help != "" && d.Code != "SW113" && (d.Code != "SW108" || !isText(plainText(text))) {
			found[i].Help = help
		}
	}
}

// textIn returns the text of the document that an error is about, if it is on one line. For an error about one character, it is the text before the
// character.
func (s *Source) textIn(d Diagnostic) string {
	from, to := d.Range.Start, d.Range.End
	line := s.Line(from.Line)
	begin := from.Offset - s.LineStart(from.Line)
	if d.Severity != SeverityError || from.Line != to.Line || begin < 0 || begin >= len(line) {
		return ""
	}
	_, size := utf8.DecodeRune(line[begin:])
	return string(line[begin:min(len(line), max(begin+size, begin+to.Offset-from.Offset))])
}

// isText reports whether YAML reads a value as text.
func isText(value string) bool {
	var n yaml.Node
	return yaml.Unmarshal([]byte(value), &n) == nil && len(n.Content) == 1 && n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Tag == "!!str"
}

// dropBeforeForeign removes the errors about values that are missing because the line that should contain them begins with a foreign space or hyphen:
// to YAML, it is a property of something else.
func (p *parser) dropBeforeForeign() {
	for _, d := range p.found.Errors() {
		text := p.src.textIn(d)
		first, _ := utf8.DecodeRuneInString(text)
		if d.Code != "SW106" || first <= unicode.MaxASCII || !strings.ContainsRune(" -", plainRune(first)) || foreignIn(text) == "" {
			continue
		}
		p.found = slices.DeleteFunc(p.found, func(e Diagnostic) bool {
			return (e.Code == "SW107" || e.Code == "SW108") && e.Range.Start.Line < d.Range.Start.Line && p.src.Data(e.Pointer) == nil
		})
	}
}
