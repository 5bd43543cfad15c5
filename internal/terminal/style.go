// Package terminal formats text for people: colours, signs and their replacements in ASCII, columns, lengths and counts in words. It escapes
// everything that could control a terminal. The command and the internal packages that write for people use it. It makes no decisions about
// workflows, and reads no terminal itself.
package terminal

import (
	"strings"
	"unicode/utf8"
)

// Style is the style of text on one stream.
type Style struct {
	Color bool
	ASCII bool
	Width int // of the terminal; 0 for another stream
}

// NewStyle returns the style of a stream that is a terminal or not: NO_COLOR, FORCE_COLOR and TERM decide whether it has colours, and noColor
// overrides them.
func NewStyle(env func(name string) (string, bool), tty, noColor bool) Style {
	l := Style{Color: tty}
	value := func(name string) string { v, _ := env(name); return v }
	if value("NO_COLOR") != "" || value("TERM") == "dumb" {
		l.Color = false
	}
	if force := value("FORCE_COLOR"); force != "" && force != "0" {
		l.Color = true
	}
	if noColor {
		l.Color = false
	}
	return l
}

// Paint returns s with an ANSI colour code, if the stream has colours.
func (l Style) Paint(code, s string) string {
	if !l.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold, Dim, Red, Green, Yellow and Blue paint s.
func (l Style) Bold(s string) string   { return l.Paint("1", s) }
func (l Style) Dim(s string) string    { return l.Paint("2", s) }
func (l Style) Red(s string) string    { return l.Paint("31", s) }
func (l Style) Green(s string) string  { return l.Paint("32", s) }
func (l Style) Yellow(s string) string { return l.Paint("33", s) }
func (l Style) Blue(s string) string   { return l.Paint("36", s) }

// asciiSign returns the replacement of a sign in plain ASCII.
func asciiSign(sign string) (string, bool) {
	switch sign {
	case "✔":
		return "ok", true
	case "✖":
		return "FAIL", true
	case "▶":
		return "..", true
	case "●", "·":
		return "*", true
	case "○":
		return "-", true
	case "⊘":
		return "STOP", true
	case "⏱":
		return "(t)", true
	case "→":
		return "->", true
	case "├─":
		return "|-", true
	case "└─":
		return "`-", true
	case "│":
		return "|", true
	case "…":
		return "...", true
	case "‹":
		return "<", true
	case "›":
		return ">", true
	}
	return "", false
}

// Sign returns s, or its replacement in plain ASCII.
func (l Style) Sign(s string) string {
	if plain, ok := asciiSign(s); ok && l.ASCII {
		return plain
	}
	return s
}

// Text returns a finished line with all signs in it replaced, if necessary. The rest stays unchanged.
func (l Style) Text(s string) string {
	if !l.ASCII {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		if strings.HasPrefix(s, "├─") || strings.HasPrefix(s, "└─") {
			size = len("├─")
		}
		b.WriteString(l.Sign(s[:size]))
		s = s[size:]
	}
	return b.String()
}
