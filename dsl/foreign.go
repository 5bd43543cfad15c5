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
const lookalikes = "АAВBЕEКKМMНHОOРPСCТTХXІIЈJЅSΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXаaеeоoрpсcуyхxіiѕsјjԁdһhԛqԝwοoνvιiϲcϳj"

// plainRune returns the character of keywords that a character resembles: a letter, a hyphen or a space. It is negative for an invisible character.
func plainRune(r rune) rune {
	switch {
	case r <= unicode.MaxASCII:
		return r
	case unicode.Is(unicode.Cf, r), strings.ContainsRune("\u034f\u115f\u1160\u2800\u3164\uffa0", r):
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
func foreignIn(text string, column int) string {
	plain := plainText(text)
	if plain == text || strings.ContainsFunc(plain, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(text[strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }):])
	name := fmt.Sprintf("%s in column %d", characterName(r), column+utf8.RuneCountInString(text[:strings.IndexRune(text, r)]))
	switch meant := plainRune(r); meant {
	case -1:
		return fmt.Sprintf("remove the character %s, which is invisible", name)
	case ' ':
		return fmt.Sprintf("write a plain space in the place of %s", name)
	default:
		if unicode.IsLetter(meant) && !strings.ContainsFunc(text, isLatin) {
			return "" // a word of that script, all of whose letters look like others
		}
		return fmt.Sprintf("write a plain `%c` in the place of %s, which looks like it", meant, name)
	}
}

// isLatin reports whether a character is a letter of ASCII.
func isLatin(r rune) bool { return r <= unicode.MaxASCII && unicode.IsLetter(r) }

// foreignWords returns the offsets of the characters that make a word resemble another word: a letter of another script among letters of ASCII, or an
// invisible character where no script has one.
func foreignWords(text string) (all []int) {
	from := 0 // where the word begins
	for i, r := range text + " " {
		invisible := r > unicode.MaxASCII && plainRune(r) < 0 && !joins(r, text[:i], text[i+utf8.RuneLen(r):])
		if !invisible && unicode.In(r, unicode.L, unicode.M, unicode.N) {
			continue
		}
		if word := text[from:i]; strings.ContainsFunc(word, isLatin) && foreignIn(word, 0) != "" {
			for j, letter := range word {
				if letter > unicode.MaxASCII {
					all = append(all, from+j)
				}
			}
		}
		if invisible {
			all = append(all, i)
		}
		from = i + utf8.RuneLen(r)
	}
	return all
}

// joins reports whether an invisible character is a part of the text around it: some scripts have such characters between letters, and emoji are joined by them.
func joins(r rune, before, after string) bool {
	previous, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case r == 0x00ad || r == 0xfeff || r == 0x2060:
		return false
	case r == 0x200c, r == 0x200d:
		return joinsLetters(previous) || joinsLetters(next) || r == 0x200d && isEmoji(previous) && isEmoji(next)
	case r == 0x200b: // between the words of scripts without spaces
		return unicode.In(previous, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
	}
	return before != "" && previous > unicode.MaxASCII || after != "" && next > unicode.MaxASCII
}

// joinsLetters reports whether a character is of a script in which joiners and non-joiners change the shapes of letters. One neighbour of these scripts is
// enough: Persian has a non-joiner after an abbreviation in Latin letters, and Malayalam a joiner at the end of a word.
func joinsLetters(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// isEmoji reports whether a character is an emoji, or the end of one: its colour or its variant.
func isEmoji(r rune) bool {
	return r == 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff || r > unicode.MaxASCII && unicode.Is(unicode.So, r) || r == 0x2194 || r == 0x2195
}

// isPrintable reports whether a name has no character that is invisible, apart from those that the scripts of the name need.
func isPrintable(name string) bool {
	for i, r := range name {
		isJoiner := r == 0x200c || r == 0x200d
		if !unicode.IsPrint(r) && !(isJoiner && joins(r, name[:i], name[i+utf8.RuneLen(r):])) {
			return false
		}
	}
	return true
}

// plainQuote returns the quote of ASCII that a typographic quote resembles, and any other character unchanged.
func plainQuote(r rune) rune {
	switch {
	case strings.ContainsRune("‘’‚‛", r):
		return '\''
	case strings.ContainsRune("“”„‟", r):
		return '"'
	}
	return r
}

// foreignSigns returns the offsets of foreignWords, and of the characters that resemble a sign of ASCII in a text that is in ASCII otherwise.
func foreignSigns(text string) []int {
	all := foreignWords(text)
	if typographic().MatchString(text) || strings.ContainsFunc(strings.Map(plainQuote, plainText(text)), func(r rune) bool { return r > unicode.MaxASCII }) {
		return all
	}
	for i, r := range text {
		if r > unicode.MaxASCII && !unicode.IsLetter(r) {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// foreignName returns the offsets of foreignWords in a name, and the offsets of signs and spaces between letters of ASCII that resemble ASCII. It ignores
// signs in a name with spaces, apostrophes, and ranges of numbers, because they are prose.
func foreignName(name string) []int {
	all := foreignWords(name)
	plain := strings.Map(plainQuote, plainText(name))
	if strings.ContainsFunc(plain, func(r rune) bool { return r > unicode.MaxASCII }) {
		return all
	}
	isWord := func(r rune) bool { return isLatin(r) || r >= '0' && r <= '9' }
	for i, r := range name {
		before, _ := utf8.DecodeLastRuneInString(name[:i])
		after, _ := utf8.DecodeRuneInString(name[i+utf8.RuneLen(r):])
		between := isWord(before) && isWord(after) && (isLatin(before) || isLatin(after))
		sign := plainRune(r)
		if r > unicode.MaxASCII && sign > 0 && sign <= unicode.MaxASCII && !isWord(sign) && between && (sign == ' ' || !strings.ContainsRune(plain, ' ')) {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// characterName returns the number of a character with its name, or its script.
func characterName(r rune) string {
	name := map[rune]string{
		0xa0: "NO-BREAK SPACE", 0xad: "SOFT HYPHEN", 0x34f: "COMBINING GRAPHEME JOINER", 0x200b: "ZERO WIDTH SPACE", 0x200c: "ZERO WIDTH NON-JOINER", 0x200d: "ZERO WIDTH JOINER",
		0x200e: "LEFT-TO-RIGHT MARK", 0x200f: "RIGHT-TO-LEFT MARK", 0x2002: "EN SPACE", 0x2003: "EM SPACE", 0x2007: "FIGURE SPACE", 0x2009: "THIN SPACE", 0x202f: "NARROW NO-BREAK SPACE",
		0x202a: "LEFT-TO-RIGHT EMBEDDING", 0x202c: "POP DIRECTIONAL FORMATTING", 0x202e: "RIGHT-TO-LEFT OVERRIDE", 0x2010: "HYPHEN", 0x2011: "NON-BREAKING HYPHEN", 0x2012: "FIGURE DASH",
		0x2013: "EN DASH", 0x2014: "EM DASH", 0x2018: "LEFT SINGLE QUOTATION MARK", 0x2019: "RIGHT SINGLE QUOTATION MARK", 0x201c: "LEFT DOUBLE QUOTATION MARK",
		0x201d: "RIGHT DOUBLE QUOTATION MARK", 0x201e: "DOUBLE LOW-9 QUOTATION MARK", 0x2060: "WORD JOINER", 0x2212: "MINUS SIGN", 0x2800: "BRAILLE PATTERN BLANK",
		0x3000: "IDEOGRAPHIC SPACE", 0x3164: "HANGUL FILLER", 0xfeff: "ZERO WIDTH NO-BREAK SPACE",
	}[r]
	switch {
	case unicode.Is(unicode.Cyrillic, r):
		name = "(a Cyrillic letter)"
	case unicode.Is(unicode.Greek, r):
		name = "(a Greek letter)"
	case r >= 0xff01 && r <= 0xff5e:
		name = "(of full width)"
	}
	return strings.TrimSpace(fmt.Sprintf("U+%04X %s", r, name))
}

// tellForeign adds to the diagnostics about a text with a foreign character the help to replace it.
func (s *Source) tellForeign(found Diagnostics) {
	for i, d := range found {
		text := s.textIn(d)
		if help := foreignIn(text, d.Range.Start.Column); help != "" && d.Code != "SW113" && (d.Code != "SW108" || !isText(plainText(text))) {
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
		if d.Code != "SW106" || first <= unicode.MaxASCII || !strings.ContainsRune(" -", plainRune(first)) || foreignIn(text, 0) == "" {
			continue
		}
		p.found = slices.DeleteFunc(p.found, func(e Diagnostic) bool {
			return (e.Code == "SW107" || e.Code == "SW108") && e.Range.Start.Line < d.Range.Start.Line && p.src.Data(e.Pointer) == nil
		})
	}
}
