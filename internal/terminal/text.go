package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
)

// Printable returns s with everything escaped that could control a terminal or break a line: control characters, bytes that are not UTF-8, and
// characters that change the direction of text.
func Printable(s string) string {
	if isPrintable(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		b.WriteString(Escaped(r, s[:size]))
		s = s[size:]
	}
	return b.String()
}

// isPrintable reports whether Printable returns s unchanged.
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

// Escaped returns the displayed form of r; raw is its encoding.
func Escaped(r rune, raw string) string {
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

// Width returns the number of columns of s on a terminal.
func Width(s string) int { return cells().String(s) }

// cells measures text in columns of a terminal; colours take none.
func cells() displaywidth.Options { return displaywidth.Options{ControlSequences: true} }

// Pad returns s filled up with spaces to width columns.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// Clip shortens s to width columns; a shortened text ends in ….
func Clip(s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return s
	}
	if width == 1 {
		return "…"
	}
	return cells().TruncateString(s, width, "…")
}

// Counted returns "1 error" or "2 errors"; info has no plural.
func Counted[N int | int64](n N, noun string) string {
	if n != 1 && noun != "info" {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Elapsed formats an elapsed or remaining time: 3ms, 1.5s, 4m47s, 30d. A negative time counts as zero.
func Elapsed(d time.Duration) string { return duration.FormatRough(max(d, 0)) }

// Duration formats a duration of the document.
func Duration(d *dsl.Duration) string {
	if d.Expression != "" {
		return Printable(shorten.To(d.Expression, 40))
	}
	var parts []string
	if d.Years != 0 {
		parts = append(parts, strconv.Itoa(d.Years)+"y")
	}
	if d.Months != 0 {
		parts = append(parts, strconv.Itoa(d.Months)+"mo")
	}
	if d.Exact != 0 || len(parts) == 0 {
		parts = append(parts, duration.Format(d.Exact))
	}
	return strings.Join(parts, "")
}

// StandardInput is the name of a document from standard input in messages.
const StandardInput = "<stdin>"

// DocumentWord returns the argument of a command that reads the document of a file.
func DocumentWord(file string) string {
	if file == StandardInput {
		return "-"
	}
	return ShellWord(file)
}

// ShellWord quotes a file name if a shell needs it.
func ShellWord(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/+:@%", r))
	})
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(Printable(s), "'", `'\''`) + "'"
}
