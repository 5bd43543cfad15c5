package dsl

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// Duration is a span of time as written: calendar parts, an exact part, or an expression that yields one.
type Duration struct {
	Pointer    Pointer
	Expression string // a ${ } expression that yields the duration; if it is set, the other fields are zero
	Years      int
	Months     int
	Exact      time.Duration // weeks (7 days), days (24 h), hours and below

	broken bool // an error about it was reported, so that its length is unknown
}

// AddTo returns the instant d after t: years and months by the calendar, the rest exactly. A month after January 31 is
// the last day of February.
func (d Duration) AddTo(t time.Time) time.Time {
	if d.Years == 0 && d.Months == 0 {
		return t.Add(d.Exact)
	}
	moved := t.AddDate(d.Years, d.Months, 0)
	if moved.Day() != t.Day() { // the month has no such day, and AddDate continued into the next month
		moved = moved.AddDate(0, 0, -moved.Day())
	}
	return moved.Add(d.Exact)
}

// IsZero reports whether d is no time at all.
func (d Duration) IsZero() bool {
	return d.Expression == "" && d.Years == 0 && d.Months == 0 && d.Exact == 0
}

// String writes d as ISO 8601, or as its expression.
func (d Duration) String() string {
	if d.Expression != "" {
		return d.Expression
	}
	var b strings.Builder
	b.WriteString("P")
	part := func(n int64, unit string) {
		if n != 0 {
			b.WriteString(strconv.FormatInt(n, 10) + unit)
		}
	}
	part(int64(d.Years), "Y")
	part(int64(d.Months), "M")
	const day = 24 * time.Hour
	part(int64(d.Exact/day), "D")
	if rest := d.Exact % day; rest != 0 {
		b.WriteString("T")
		part(int64(rest/time.Hour), "H")
		part(int64(rest%time.Hour/time.Minute), "M")
		if seconds := rest % time.Minute; seconds != 0 {
			b.WriteString(strconv.FormatFloat(seconds.Seconds(), 'f', -1, 64) + "S")
		}
	}
	if b.Len() == 1 {
		return "PT0S"
	}
	return b.String()
}

// ParseDuration reads an ISO 8601 duration such as P1DT2.5S, as far as the DSL allows it: no sign; years and months whole; at most a hundred years.
func ParseDuration(text string) (Duration, error) {
	parts, err := duration.ParseISO(text)
	return Duration{Years: parts.Years, Months: parts.Months, Exact: parts.Exact}, err
}

func units() map[string]time.Duration {
	return map[string]time.Duration{
		"days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second, "milliseconds": time.Millisecond,
	}
}

func unitNames() []string { return []string{"days", "hours", "minutes", "seconds", "milliseconds"} }

// DurationValue reads the value of an expression: ISO 8601 text, or an object of units with whole numbers.
func DurationValue(v any) (Duration, error) {
	switch v := v.(type) {
	case string:
		return ParseDuration(v)
	case map[string]any:
		var d Duration
		for _, name := range sortedKeys(v) { // sorted, so that the report is stable
			if err := d.addUnit(name, v[name]); err != nil {
				return Duration{}, err
			}
		}
		if len(v) > 0 {
			return d, nil
		}
	}
	return Duration{}, errors.New("a duration must be ISO 8601 text such as PT2S, or an object such as {seconds: 2}")
}

// NegativeError is a duration that counts a unit below zero.
type NegativeError struct {
	Unit  string
	Count int
}

// Error names the unit.
func (e *NegativeError) Error() string {
	return fmt.Sprintf("`%s` must not be negative, got %d", e.Unit, e.Count)
}

// addUnit adds a number of units to d.
func (d *Duration) addUnit(name string, v any) error {
	unit, ok := units()[name]
	if !ok {
		return fmt.Errorf("%s is not a duration unit; allowed: %s", shorten.Quoted(name), strings.Join(unitNames(), " "))
	}
	var n int
	switch v := v.(type) {
	case int:
		n = v
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return fmt.Errorf("`%s` must be a whole number, got %v", name, v)
		}
		n = int(v)
	case json.Number:
		whole, err := v.Int64()
		if err != nil {
			return fmt.Errorf("`%s` must be a whole number that is not too large, got %s", name, v)
		}
		n = int(whole)
	default:
		return fmt.Errorf("`%s` must be a whole number, got %v", name, v)
	}
	if n < 0 {
		return &NegativeError{name, n}
	}
	if n > int(duration.Max/unit) || d.Exact > duration.Max-time.Duration(n)*unit {
		return fmt.Errorf("`%s: %d` is longer than a hundred years", name, n)
	}
	d.Exact += time.Duration(n) * unit
	return nil
}

// duration decodes a duration; nil if it is absent.
func (o *object) duration(name string) *Duration {
	n := o.value(name)
	if n == nil {
		return nil
	}
	return o.p.duration(n, o.at.Key(name), name)
}

// duration decodes a duration; name is its name in messages.
func (p *parser) duration(n *yaml.Node, at Pointer, name string) *Duration {
	before := len(p.found.Errors())
	d := &Duration{}
	switch {
	case n.Kind == yaml.MappingNode:
		d = p.inlineDuration(n, at)
	case source.IsText(n) && p.reportIfEmpty(n, at, name):
	case source.IsText(n) && delimited.Is(n.Value):
		d.Expression = n.Value
	case source.IsText(n):
		*d = p.literalDuration(n, at)
	default:
		p.add(Diagnostic{Code: "SW110", Message: fmt.Sprintf("`%s` must be a duration, got %s", name, source.Describe(n)), Pointer: at,
			Range: p.src.RangeOf(n), Help: durationOf(n)})
	}
	d.Pointer, d.broken = at, len(p.found.Errors()) > before
	return d
}

func (p *parser) literalDuration(n *yaml.Node, at Pointer) Duration {
	parsed, err := ParseDuration(n.Value)
	if err == nil {
		return parsed
	}
	d := Diagnostic{Code: "SW110", Message: err.Error(), Pointer: at, Range: p.src.RangeOf(n),
		Help: "write an object such as {seconds: 2}, or ISO 8601 such as PT2S"}
	if _, err := strconv.ParseFloat(strings.TrimSpace(n.Value), 64); err == nil {
		d.Help = fmt.Sprintf("a number alone says no unit: write `{ seconds: %s }`, without quotes", strings.TrimSpace(n.Value))
	}
	if help := helpWithDuration(n.Value); help != "" {
		d.Help = help
	}
	if meant := interpolated(n.Value); strings.Contains(n.Value, "${") && meant != "" {
		d.Label, d.Help = didYouMean(p.src.Quote(meant)), "an expression takes the whole value"
	}
	if meant := meantDuration(n.Value); meant != "" {
		d.Label, d.Fix = didYouMean(meant), p.src.Replace(n, meant)
	}
	p.add(d)
	return parsed
}

var shortDuration = lazyregexp.New(`^(\d+)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)$`)

// meantDuration returns the ISO 8601 form of durations in other common forms, such as 2s and pt2s, or "".
func meantDuration(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if d, err := ParseDuration(strings.ToUpper(text)); err == nil {
		return d.String()
	}
	m := shortDuration().FindStringSubmatch(text)
	if m == nil {
		return cmp.Or(goDuration(text), durationElsewhere(text))
	}
	unit := "milliseconds"
	if m[2] != "ms" && !strings.HasPrefix(m[2], "milli") {
		unit = map[byte]string{'s': "seconds", 'm': "minutes", 'h': "hours", 'd': "days"}[m[2][0]]
	}
	d, err := DurationValue(map[string]any{unit: json.Number(m[1])})
	if err != nil {
		return ""
	}
	return d.String()
}

// goDuration returns the ISO 8601 form of a duration such as 1h30m, or "".
func goDuration(text string) string {
	length, err := time.ParseDuration(text)
	if err != nil || length <= 0 || !strings.ContainsAny(text, "hms") {
		return ""
	}
	d, err := DurationValue(map[string]any{"milliseconds": json.Number(strconv.FormatInt(length.Milliseconds(), 10))})
	if err != nil {
		return ""
	}
	return d.String()
}

func (p *parser) inlineDuration(n *yaml.Node, at Pointer) *Duration {
	p.duplicates(n, at)
	d := &Duration{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !slices.Contains(unitNames(), key.Value) {
			p.unknownUnit(key, at)
			continue
		}
		count, ok := wholeNumber(value)
		if !ok {
			p.wrongType(value, at.Key(key.Value), "`"+key.Value+"`", wholeNumbers)
			p.helpBetter(countElsewhere(key.Value, value))
		} else if err := d.addUnit(key.Value, count); err != nil {
			p.add(Diagnostic{Code: "SW123", Message: err.Error(), Pointer: at.Key(key.Value), Range: p.src.RangeOf(value)})
		}
	}
	if len(n.Content) == 0 {
		p.add(Diagnostic{Code: "SW110", Message: "a duration needs at least one unit", Pointer: at, Range: p.src.RangeOf(n),
			Help: "allowed: " + strings.Join(unitNames(), " ")})
	}
	return d
}

// countElsewhere returns how to write a duration that has another value in the place of a number of units, or "".
func countElsewhere(unit string, n *yaml.Node) string {
	number, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case source.IsText(n) && delimited.Is(n.Value):
		inner := oneLine(strings.TrimSpace(delimited.Inside(n.Value)))
		return fmt.Sprintf("an expression takes the whole duration: `'${ { %s: %s } }'` in the place of the object", unit, inner)
	case source.IsText(n) && meantDuration(n.Value) != "":
		return fmt.Sprintf("write `%s` in the place of the object", meantDuration(n.Value))
	case source.IsNumber(n) && err == nil && unit == "seconds" && number > 0:
		return fmt.Sprintf("write `PT%sS` in the place of the object, or add `milliseconds`", oneLine(n.Value))
	case source.IsNumber(n) && err == nil && (unit == "minutes" || unit == "hours") && number > 0:
		return fmt.Sprintf("write `PT%s%s` in the place of the object, or add a smaller unit", oneLine(n.Value), strings.ToUpper(unit[:1]))
	case source.IsNumber(n) && err == nil && unit == "days" && likelyDuration(fmt.Sprintf("PT%gH", number*24)) != "":
		return fmt.Sprintf("write `%s` in the place of the object, or add `hours`", likelyDuration(fmt.Sprintf("PT%gH", number*24)))
	}
	return ""
}

func (p *parser) unknownUnit(key *yaml.Node, at Pointer) {
	d := Diagnostic{
		Code: "SW110", Message: fmt.Sprintf("`%s` is not a duration unit", key.Value), Pointer: at, Range: p.src.RangeOf(key),
		Expected: unitNames(), Help: "allowed: " + strings.Join(unitNames(), " ") + ", or ISO 8601 such as PT2S",
	}
	if slices.Contains([]string{"until", "at", "timestamp", "Timestamp", "date"}, key.Value) {
		d.Help = untilTime
	}
	if slices.Contains([]string{"duration", "for", "after", "delay", "time", "length", "period"}, key.Value) {
		d.Help = "write the duration itself in its place: `PT5S` or `{ seconds: 5 }`"
	}
	switch key.Value {
	case "weeks", "week":
		d.Help = "write `days: 7`, or `P1W`"
	case "unit", "value", "amount":
		d.Help = "write the unit as the name: `{ seconds: 5 }`"
		if slices.ContainsFunc(p.found, func(f Diagnostic) bool { return f.Help == d.Help && f.Pointer == at }) {
			return
		}
	}
	p.add(p.src.otherKey(d, key, unitNames()))
}

// durationOf returns how to write a duration in the place of another value.
func durationOf(n *yaml.Node) string {
	if source.IsNumber(n) {
		return fmt.Sprintf("a number alone says no unit: write `{ seconds: %s }`", n.Value)
	}
	return "write an object such as {seconds: 2}, or ISO 8601 such as PT2S"
}

// Value returns the duration as a property that may be an expression.
func (d *Duration) Value() Value { return Value{d.Pointer, d.Expression, FormText} }
