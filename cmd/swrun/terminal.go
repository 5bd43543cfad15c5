package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// look is how text is shown on one stream.
type look struct {
	color bool
	ascii bool
	width int // of the terminal; 0 if it is none
}

// newLook follows NO_COLOR, FORCE_COLOR, TERM and the flags --no-color and --ascii.
func newLook(s streams, tty, noColor, ascii bool) look {
	l := look{color: tty, ascii: ascii}
	if tty && s.width != nil {
		l.width = s.width()
	}
	value := func(name string) string { v, _ := s.env(name); return v }
	if value("NO_COLOR") != "" || value("TERM") == "dumb" {
		l.color = false
	}
	if force := value("FORCE_COLOR"); force != "" && force != "0" {
		l.color = true
	}
	if noColor {
		l.color = false
	}
	return l
}

func (l look) paint(code, s string) string {
	if !l.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (l look) bold(s string) string   { return l.paint("1", s) }
func (l look) dim(s string) string    { return l.paint("2", s) }
func (l look) red(s string) string    { return l.paint("31", s) }
func (l look) green(s string) string  { return l.paint("32", s) }
func (l look) yellow(s string) string { return l.paint("33", s) }
func (l look) blue(s string) string   { return l.paint("36", s) }

// twin returns what stands for a sign with --ascii.
func twin(sign string) (string, bool) {
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

// sign returns s, or what stands for it in plain ASCII.
func (l look) sign(s string) string {
	if plain, ok := twin(s); ok && l.ascii {
		return plain
	}
	return s
}

// text returns a finished line with all signs in it replaced, if need be. What else it holds stays as it is.
func (l look) text(s string) string {
	if !l.ascii {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		if strings.HasPrefix(s, "├─") || strings.HasPrefix(s, "└─") {
			size = len("├─")
		}
		b.WriteString(l.sign(s[:size]))
		s = s[size:]
	}
	return b.String()
}

// printable returns s with everything escaped that could drive a terminal or break a line: control characters,
// bytes that are no UTF-8, and characters that change the direction of text.
func printable(s string) string {
	if isPrintable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		b.WriteString(escaped(r, s[:size]))
		s = s[size:]
	}
	return b.String()
}

func isPrintable(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || unsafeRune(r) {
			return false
		}
	}
	return true
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff'
}

// escaped returns how r is shown; raw is its encoding.
func escaped(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return `\x` + hex(uint64(raw[0]), 2)
	case !unsafeRune(r):
		return raw
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return `\x` + hex(uint64(r), 2)
	}
	return `\u` + hex(uint64(r), 4)
}

func hex(n uint64, digits int) string {
	s := strconv.FormatUint(n, 16)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}

func displayWidth(s string) int { return cells().String(s) }

// cells measures text in columns of a terminal; colours take none.
func cells() displaywidth.Options { return displaywidth.Options{ControlSequences: true} }

// padded returns s filled up with spaces to width columns.
func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-displayWidth(s)))
}

// clip shortens s to width columns; it ends in … then.
func clip(s string, width int) string {
	if width <= 0 || displayWidth(s) <= width {
		return s
	}
	if width == 1 {
		return "…"
	}
	return cells().TruncateString(s, width, "…")
}

// bounded shortens s to n bytes or a little less, at a character.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
