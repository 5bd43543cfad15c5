package dsl

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/attribute"
	"github.com/swrun/swrun/internal/delimited"
)

// checkEventFilters: SW708, filters with an attribute that no event can have. Events that are no CloudEvents come to nobody (semantics 14.9).
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
			if value := with[name]; value != nil && strings.TrimSpace(name) != "" && !delimited.Is(name) { // which are reported
				c.eventFilter(f.With.Pointer.Key(name), name, value)
			}
		}
	}
	c.eventFilters(s.UntilEvent)
}

func (c *checker) eventFilter(at Pointer, name string, value any) {
	d := Diagnostic{Code: "SW708", Pointer: at, Range: c.w.Source.Value(at), Help: "write a value that events have, or remove the attribute"}
	text, isText := value.(string)
	computed := isText && (delimited.Is(text) || attribute.IsPattern(text))
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
