package filter

import (
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/duration"
)

// value is one value of a condition, as its field reads it.
type value struct {
	text    string
	literal bool      // * and ? are characters like others
	prefix  bool      // something may follow
	number  int64     // of a field that is a number
	time    time.Time // of a field that is a time
	any     bool      // of such a field: *, whatever it is
}

// isPattern reports whether * and ? in it stand for others.
func (v *value) isPattern() bool { return !v.literal && strings.ContainsAny(v.text, "*?") }

// fitsText reports whether a text matches the value.
func (v *value) fitsText(text string) bool {
	switch {
	case v.prefix:
		return strings.HasPrefix(text, v.text)
	case v.isPattern():
		return fitsPattern(v.text, text)
	}
	return v.text == text
}

// fitsPattern reports whether a text fits a pattern in which * stands for any characters and ? for one.
func fitsPattern(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, mark := -1, 0 // the last *, and how much of the text the pattern before it and itself have taken
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}

// contains reports whether a text has the value in it, in upper or lower case.
func (v *value) contains(text string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(v.text))
}

// compare reports whether a comparison with the value holds, by how something compares with it: below 0, 0 or above 0.
func compare(o operator, c int) bool {
	switch o {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return c == 0 // != is its negation
}

const hintTime = "for example -1h, 5m, today, 2026-11-22 or 2026-11-22T08:00:00Z"

// readTime parses an absolute or relative time.
func readTime(text string, now time.Time) (time.Time, error) {
	now = now.UTC()
	midnight := now.Truncate(24 * time.Hour)
	switch text {
	case "now":
		return now, nil
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	span, past := strings.CutPrefix(text, "-")
	d, err := duration.Parse(strings.TrimPrefix(span, "+"))
	if err != nil {
		return time.Time{}, &Error{Text: text, Problem: "is not a time", Hint: hintTime}
	}
	if past {
		d = -d
	}
	return now.Add(d), nil
}

// isToCome reports whether text is a span that counts forward from now.
func isToCome(text string) bool {
	d, err := duration.Parse(strings.TrimPrefix(text, "+"))
	return err == nil && d > 0
}

func readNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, &Error{Text: text, Problem: "is not a whole number that a filter takes", Hint: "for example 3, which is compared with <, <=, >, >=, = or !="}
	}
	return n, nil
}
