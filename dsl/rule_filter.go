package dsl

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/swrun/swrun/internal/attribute"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// checkEventFilters: SW708, filters with an attribute that no event can have, or with a broken regular expression. An event that is not a CloudEvent
// reaches no filter (semantics 14.9).
func checkEventFilters(c *checker) {
	Walk(c.w, func(t Task) bool {
		if listen, is := t.(*ListenTask); is {
			c.eventFilters(listen.To)
		}
		return true
	})
	if s := c.w.Schedule; s != nil {
		c.eventFilters(s.On)
	}
}

func (c *checker) eventFilters(s *EventStrategy) {
	if s == nil {
		return
	}
	for _, f := range s.Filters() {
		with, _ := f.With.Data.(map[string]any)
		for _, name := range sortedKeys(with) {
			if value := with[name]; value != nil && strings.TrimSpace(name) != "" && !delimited.Is(name) { // reported elsewhere
				c.eventFilter(f.With.Pointer.Key(name), name, value)
			}
		}
	}
	c.eventFilters(s.UntilEvent)
}

func (c *checker) eventFilter(at Pointer, name string, value any) {
	d := Diagnostic{Code: "SW708", Pointer: at, Range: c.w.Source.Value(at), Help: "write a value that events have, or remove the attribute"}
	computed := name != "data_base64" && c.patterns(at, value)
	if known := name == "data" || name == "data_base64"; !known && !attribute.IsName(name) {
		value, computed, d.Range = "", false, c.w.Source.Key(at)
		d.Help = "names of attributes are of a to z and 0 to 9; what an event is about stands below `data`"
		if member, is := strings.CutPrefix(name, "data."); is {
			d.Label = fmt.Sprintf("write `data: { %s: ... }`", oneLine(member))
		} else if meant := nameOfAttribute(name); meant != "" {
			d.Label = didYouMean(meant)
		}
	}
	if computed {
		return
	}
	if err := attribute.Check(map[string]any{name: value}, name); err != nil {
		d.Message = "no event passes this filter: " + err.Error()
		c.add(d)
	}
}

// patterns reports whether the value of a filter is an expression or a regular expression, and warns of each regular expression in it that is broken: it is
// compared as text (semantics 14.6).
func (c *checker) patterns(at Pointer, value any) (computed bool) {
	switch v := value.(type) {
	case string:
		if delimited.Is(v) {
			return true
		}
		pattern, err := attribute.Pattern(v)
		if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
			c.add(Diagnostic{Code: "SW708", Pointer: at, Range: c.w.Source.Value(at), Help: plainPattern(v),
				Message: fmt.Sprintf("%s is no regular expression, and is compared as text: %s: %s", shorten.Quoted(v), wrong.Code, shorten.Quoted(wrong.Expr))})
		}
		return pattern != nil || err != nil
	case map[string]any:
		for _, name := range sortedKeys(v) {
			c.patterns(at.Key(name), v[name])
		}
	case []any:
		for i, element := range v {
			c.patterns(at.Index(i), element)
		}
	}
	return false
}

// plainPattern returns the help for a broken regular expression.
func plainPattern(text string) string {
	help := `write \ before each special character that stands for itself`
	if len(text) <= maxPlain {
		help += ": '" + strings.ReplaceAll(oneLine(regexp.QuoteMeta(text)), "'", "''") + "'"
	}
	if strings.HasPrefix(text, "*") {
		help = "write .* for any text, or " + strings.TrimPrefix(help, "write ")
	}
	return help
}

const maxPlain = 60 // maximum length of the text that the help repeats, in bytes
