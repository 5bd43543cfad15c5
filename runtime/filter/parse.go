package filter

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/swrun/swrun/errors"
)

// parser reads a filter from its beginning to its end.
type parser struct {
	text   string
	at     int // the next byte
	now    time.Time
	values int // that were read
}

const hintExample = "for example status=waiting,running workflow=demo/* started>-1h"

// filter reads all conditions.
func (p *parser) filter() (f Filter, err error) {
	if !utf8.ValidString(p.text) {
		return f, p.wrong(0, len(p.text), "is not UTF-8", "")
	}
	for p.skipBlanks(); p.at < len(p.text); p.skipBlanks() {
		c, err := p.condition()
		if err != nil {
			return Filter{}, err
		}
		if f.conditions = append(f.conditions, c); len(f.conditions) > maxConditions || p.values > maxValues {
			return Filter{}, p.wrong(0, len(p.text), "has more conditions or values than a filter may have", "at most 100 conditions with 1000 values")
		}
	}
	return f, nil
}

func (p *parser) skipBlanks() {
	p.at += len(p.rest()) - len(strings.TrimLeft(p.rest(), blanks))
}

// blanks separate conditions.
const blanks = " \t\r\n"

func (p *parser) rest() string { return p.text[p.at:] }

// condition reads a field, an operator and values.
func (p *parser) condition() (c condition, err error) {
	start := p.at
	name, err := p.name()
	if err != nil {
		return c, err
	}
	if c.operator = p.operator(); name == "" || c.operator == "" {
		return c, p.notCondition(start)
	}
	if c.field, err = lookUp(name); err != nil {
		return c, p.placed(start, err)
	}
	if takes := c.field.takes(); !slices.Contains(takes, c.operator) {
		return c, p.wrong(start, p.at, "is not how "+name+" is compared", "it takes "+strings.Trim(fmt.Sprint(takes), "[]"))
	}
	for {
		v, err := p.value(&c)
		if err != nil {
			return c, err
		}
		c.values = append(c.values, v)
		p.values++
		if !strings.HasPrefix(p.rest(), ",") {
			break
		}
		p.at++
	}
	if p.at < len(p.text) && !strings.ContainsRune(blanks, rune(p.text[p.at])) {
		return c, p.wrong(start, p.wordEnd(p.at), "goes on after a value in quotes", "put all of the value into the quotes")
	}
	return c, nil
}

// name reads the name of a field, parts of which may be quoted.
func (p *parser) name() (string, error) {
	var b strings.Builder
	for p.at < len(p.text) {
		if p.text[p.at] == '"' {
			quoted, err := p.quoted()
			if err != nil {
				return "", err
			}
			b.WriteString(quoted)
			continue
		}
		if strings.IndexByte("=!~<>,"+blanks, p.text[p.at]) >= 0 {
			break
		}
		b.WriteByte(p.text[p.at])
		p.at++
	}
	return b.String(), nil
}

func (p *parser) operator() operator {
	for _, o := range operators() {
		if strings.HasPrefix(p.rest(), string(o)) {
			p.at += len(o)
			return o
		}
	}
	return ""
}

// value reads one value of a condition.
func (p *parser) value(c *condition) (v value, err error) {
	start := p.at
	if strings.HasPrefix(p.rest(), `"`) {
		v.literal = true
		v.text, err = p.quoted()
	} else {
		end := len(p.rest())
		if at := strings.IndexAny(p.rest(), ","+blanks); at >= 0 {
			end = at
		}
		v.text, p.at = p.rest()[:end], p.at+end
	}
	if err != nil {
		return v, err
	}
	if strings.TrimSpace(v.text) == "" {
		return v, p.wrong(start, start, "a value is missing", "no blanks around "+string(c.operator)+"; "+hintExample)
	}
	return v, p.placed(start, c.field.complete(&v, c.operator, p.now))
}

// quoted parses a text in double quotes, in which a backslash precedes a quote or another backslash.
func (p *parser) quoted() (string, error) {
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return b.String(), nil
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			b.WriteByte(p.text[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.wrong(start, len(p.text), "has no closing quote", "")
}

// notCondition returns the error of a word that has no field or no operator.
func (p *parser) notCondition(start int) error {
	end := max(p.wordEnd(start), p.at)
	switch strings.ToLower(p.text[start:end]) {
	case "and", "&&":
		return p.wrong(start, end, "is not needed", "conditions that stand beside each other must all hold")
	case "or", "||":
		return p.wrong(start, end, "is not a condition", "one of several values is written with commas: status=running,waiting")
	}
	return p.wrong(start, end, "is not a condition", hintExample)
}

// wordEnd returns where the word ends that a byte is in.
func (p *parser) wordEnd(at int) int {
	if end := strings.IndexAny(p.text[at:], blanks); end >= 0 {
		return at + end
	}
	return len(p.text)
}

// wrong returns an error about a part of the filter.
func (p *parser) wrong(from, to int, problem, hint string) error {
	return p.placed(from, &Error{Text: p.text[from:to], Problem: problem, Hint: hint})
}

// placed adds to an error where in the filter it is.
func (p *parser) placed(at int, err error) error {
	if wrong := (*Error)(nil); errors.As(err, &wrong) {
		wrong.At = utf8.RuneCountInString(p.text[:at]) + 1
	}
	return err
}
