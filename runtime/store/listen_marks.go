package store

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/swrun/swrun/interpreter"
)

// This file determines for which namespaces an entry of the listener index is found (docs/decisions/0071).
//
// A filter with expressions has two entries. The first is for events that may reach all namespaces: two spaces precede its expressions. The
// second is for events of the namespace of the run: one space precedes its expressions, and the first expression begins with a comment that
// contains the namespace. Builds without this feature read both entries as the same expressions, because white space before JSON and a
// comment in jq have no effect. Entries written by these builds have no mark, and every event finds them.

const (
	markedAll       = "  "
	markedNamespace = " "
	commentBegin    = "#"
	commentEnd      = "\n"
)

// markedFrom returns the expressions of a filter as the index stores them for a run of a namespace. Expressions are limited to maxIndexed,
// so that the comment does not make them longer than allowed.
func markedFrom(namespace, from string) []string {
	var texts []string
	if from == "" || namespace == "" || json.Unmarshal([]byte(from), &texts) != nil || len(texts) == 0 {
		return []string{from}
	}
	return []string{markedAll + from, namespaceMark(namespace) + strings.TrimPrefix(from, `["`)}
}

// namespaceMark returns the prefix of expressions that are found by events of a namespace.
func namespaceMark(namespace string) string {
	escaped, _ := json.Marshal(commentBegin + namespace + commentEnd) // a text can be written
	return markedNamespace + "[" + strings.TrimSuffix(string(escaped), `"`)
}

// BareFrom returns the expressions of an entry without a mark, the namespace that the mark names if it names one, and whether there is a mark.
func BareFrom(from string) (bare, namespace string, marked bool) {
	if rest, is := strings.CutPrefix(from, markedAll); is {
		return rest, "", true
	}
	begin := markedNamespace + `["` + commentBegin
	rest, is := strings.CutPrefix(from, begin)
	if !is {
		return from, "", false
	}
	namespace, rest, _ = strings.Cut(rest, `\n`)
	return `["` + rest, namespace, true
}

// ListenType is the filters for events of a type which an event may ask for.
type ListenType struct {
	Type      string // empty for filters of any type
	Namespace string // the namespace of the event; empty for an event that may reach all
}

// Has reports whether an event finds the expressions of an entry.
func (t ListenType) Has(f interpreter.EventFilter) bool {
	if f.Type != t.Type {
		return false
	}
	_, namespace, marked := BareFrom(f.From)
	return !marked || namespace == t.Namespace
}

// ListenRange is a part of the index: entries that are not below From and are below To.
type ListenRange struct{ From, To string }

// Ranges returns where the entries of all Types are, each range once.
func (c *Listening) Ranges() (all []ListenRange) {
	known := map[ListenRange]bool{}
	for _, t := range c.Types {
		for _, r := range t.ranges() {
			if !known[r] {
				known[r], all = true, append(all, r)
			}
		}
	}
	return all
}

func (t ListenType) ranges() []ListenRange {
	begin := url.PathEscape(t.Type) + " "
	marked := begin + url.PathEscape(markedNamespace)
	others := ListenRange{begin + url.PathEscape("["), url.PathEscape(t.Type) + "!"} // those without a mark
	if t.Namespace == "" {
		return []ListenRange{{begin, begin + url.PathEscape(markedNamespace+"[")}, others}
	}
	own := begin + url.PathEscape(namespaceMark(t.Namespace))
	return []ListenRange{{begin, marked}, {own, own + "~~"}, others}
}
