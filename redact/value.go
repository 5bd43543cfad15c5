package redact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// Text returns text in the form for people.
func (s *Set) Text(text string) string {
	if s == nil {
		return text
	}
	return s.show.Replace(text)
}

// Value returns JSON data in the form for people. Data that contains no secret is returned unchanged.
func (s *Set) Value(v any) any {
	if s == nil {
		return v
	}
	return s.replace(v, s.show, func(w replacement) any { return w.shown })
}

// replace replaces each value that is a whole secret by the result of whole, and secrets inside of texts by the replacer.
func (s *Set) replace(v any, inside *strings.Replacer, whole func(replacement) any) any {
	return mapData(v, inside.Replace, func(v any) any {
		if w, ok := s.wholeSecret(v); ok {
			return whole(w)
		}
		if text, ok := v.(string); ok {
			return inside.Replace(text)
		}
		return v
	})
}

// wholeSecret returns the replacement for a value that is a secret as a whole: a short text, or a number.
func (s *Set) wholeSecret(v any) (w replacement, ok bool) {
	switch v := v.(type) {
	case nil, bool:
	case string:
		w, ok = s.shortTexts[v]
	default:
		if len(s.numbers) > 0 {
			w, ok = s.numbers[formatNumber(v)]
		}
	}
	return w, ok
}

// FindSecret returns the name of a secret that v contains, or "". It skips texts and names of members that are public, and does
// not look for texts of less than four bytes, which are too common.
func (s *Set) FindSecret(v any, public func(text string) bool) (name string) {
	if s == nil {
		return ""
	}
	look := func(text string) string {
		if shown := s.show.Replace(text); name == "" && shown != text && !public(text) {
			name = hiddenName(shown)
		}
		return text
	}
	mapData(v, look, func(v any) any {
		if text, ok := v.(string); ok {
			look(text)
		} else if w, ok := s.wholeSecret(v); ok && name == "" && !public(formatNumber(v)) {
			name = hiddenName(w.shown)
		}
		return v
	})
	return name
}

// hiddenName returns the name of the first secret that was hidden in a text.
func hiddenName(shown string) string {
	_, after, _ := strings.Cut(shown, marker+": ")
	name, _, _ := strings.Cut(after, "›")
	return name
}

// ContainsSecret reports whether v contains a secret, so that Value hides something of it.
func (s *Set) ContainsSecret(v any) bool { return s != nil && !jsonvalue.Same(s.Value(v), v) }

// Seal returns JSON data in the form for storage, with references in place of secrets. Open undoes it.
func (s *Set) Seal(v any) any {
	if s == nil {
		return v
	}
	return s.replace(v, s.seal, func(w replacement) any { return w.ref })
}

// Open returns the data that Seal was called with. A reference to a secret that is not known here stays a reference.
func (s *Set) Open(v any) any {
	if s == nil {
		return v
	}
	return mapData(v, s.open.Replace, func(v any) any {
		text, ok := v.(string)
		if !ok {
			return v
		}
		if number, ok := s.numberOf[text]; ok {
			return number
		}
		return s.open.Replace(text)
	})
}

// EscapeReferences escapes text in data from outside that only looks like a reference, so that Open does not resolve it. That is necessary as long as
// not all secrets are known here.
func (s *Set) EscapeReferences(v any) any {
	if s == nil || s.complete {
		return v
	}
	return mapData(v, escape, func(v any) any {
		if text, ok := v.(string); ok {
			return escape(text)
		}
		return v
	})
}

// escape changes text that only looks like a reference.
func escape(text string) string { return strings.ReplaceAll(text, marker, marker+" ") }

// mapData returns v with name applied to the names of its members and leaf to its leaves. Parts that do not change are
// shared, not copied.
func mapData(v any, name func(string) string, leaf func(any) any) any {
	switch v := v.(type) {
	case []any:
		changed := v
		for i, item := range v {
			now := mapData(item, name, leaf)
			if jsonvalue.Same(now, item) {
				continue
			}
			if &changed[0] == &v[0] {
				changed = slices.Clone(v)
			}
			changed[i] = now
		}
		return changed
	case map[string]any:
		changed, differs := make(map[string]any, len(v)), false
		var renamed []string
		for key, member := range v {
			if name(key) != key {
				renamed = append(renamed, key)
				continue
			}
			changed[key] = mapData(member, name, leaf)
			differs = differs || !jsonvalue.Same(changed[key], member)
		}
		slices.Sort(renamed)
		for _, key := range renamed {
			changed[unusedName(changed, name(key))] = mapData(v[key], name, leaf)
		}
		if differs || renamed != nil {
			return changed
		}
		return v
	}
	return leaf(v)
}

// unusedName returns a name that data does not contain yet, so that two members whose hidden names are equal stay two.
func unusedName(data map[string]any, name string) string {
	as := name
	for n := 2; ; n++ {
		if _, taken := data[as]; !taken {
			return as
		}
		as = fmt.Sprint(name, " ", n)
	}
}

// Error returns e in the form for people. In texts that may have been cut, it also hides a part of a secret beside the cut. Texts of the document
// stay unchanged, because catches compare them, and its readers know them.
func (s *Set) Error(e *errors.Error) *errors.Error {
	if s == nil || e == nil {
		return e
	}
	hidden := *e
	for _, text := range []*string{&hidden.Type, &hidden.Title, &hidden.Instance} {
		if !s.isPublic(*text) {
			*text = s.show.Replace(*text)
		}
	}
	if !s.isPublic(e.Detail) {
		hidden.Detail = s.hideAtCuts(s.show.Replace(e.Detail))
	}
	if e.Extensions != nil {
		hidden.Extensions, _ = mapData(s.Value(e.Extensions), s.show.Replace, func(v any) any {
			if text, ok := v.(string); ok {
				return s.hideAtCuts(text)
			}
			return v
		}).(map[string]any)
	}
	return &hidden
}

func (s *Set) isPublic(text string) bool { return s.public != nil && s.public(text) }
