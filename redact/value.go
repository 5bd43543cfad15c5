package redact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// Text returns text as people may see it.
func (s *Set) Text(text string) string {
	if s == nil {
		return text
	}
	return s.show.Replace(text)
}

// Value returns JSON data as people may see it. Data that holds no secret is returned as it is.
func (s *Set) Value(v any) any {
	if s == nil {
		return v
	}
	return change(v, s.show.Replace, func(v any) any {
		if w, ok := s.is(v); ok {
			return w.shown
		}
		if text, ok := v.(string); ok {
			return s.show.Replace(text)
		}
		return v
	})
}

// is returns what stands for a value that is a secret as a whole: a short text, or a number.
func (s *Set) is(v any) (w short, ok bool) {
	switch v := v.(type) {
	case nil, bool:
	case string:
		w, ok = s.short[v]
	default:
		if len(s.numbers) > 0 {
			w, ok = s.numbers[written(v)]
		}
	}
	return w, ok
}

// FindSecret returns the name of a secret that data holds, or nothing. Texts and names of members that are public are none.
// Text of less than four characters is too common to tell that it is a secret.
func (s *Set) FindSecret(v any, public func(text string) bool) (name string) {
	if s == nil {
		return ""
	}
	look := func(text string) string {
		if shown := s.show.Replace(text); name == "" && shown != text && !public(text) {
			name = named(shown)
		}
		return text
	}
	change(v, look, func(v any) any {
		if text, ok := v.(string); ok {
			look(text)
		} else if w, ok := s.is(v); ok && name == "" && !public(written(v)) {
			name = named(w.shown)
		}
		return v
	})
	return name
}

// named returns the name in the first reference of a text in which a secret was hidden.
func named(shown string) string {
	_, after, _ := strings.Cut(shown, marker+": ")
	name, _, _ := strings.Cut(after, "›")
	return name
}

// ContainsSecret reports whether people see data otherwise than it is.
func (s *Set) ContainsSecret(v any) bool { return s != nil && !jsonvalue.Same(s.Value(v), v) }

// Seal returns JSON data as it may be stored: each secret is a reference. Open undoes it.
func (s *Set) Seal(v any) any {
	if s == nil {
		return v
	}
	return change(v, s.seal.Replace, func(v any) any {
		if w, ok := s.is(v); ok {
			return w.ref
		}
		if text, ok := v.(string); ok {
			return s.seal.Replace(text)
		}
		return v
	})
}

// Open returns what Seal was given. A reference to a secret that is not known here stays a reference.
func (s *Set) Open(v any) any {
	if s == nil {
		return v
	}
	return change(v, s.open.Replace, func(v any) any {
		text, ok := v.(string)
		if !ok {
			return v
		}
		if number, ok := s.counted[text]; ok {
			return number
		}
		return s.open.Replace(text)
	})
}

// EscapeReferences returns data that comes from outside as it must be while not all secrets are known here: what only looks like
// a reference must not become one.
func (s *Set) EscapeReferences(v any) any {
	if s == nil || s.whole {
		return v
	}
	return change(v, escape, func(v any) any {
		if text, ok := v.(string); ok {
			return escape(text)
		}
		return v
	})
}

// escape makes what only looks like a reference different from one.
func escape(text string) string { return strings.ReplaceAll(text, marker, marker+" ") }

// change returns data with the names of its members and its leaves changed, and without copying data that stays as it
// is.
func change(v any, name func(string) string, leaf func(any) any) any {
	switch v := v.(type) {
	case []any:
		changed := v
		for i, item := range v {
			now := change(item, name, leaf)
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
			changed[key] = change(member, name, leaf)
			differs = differs || !jsonvalue.Same(changed[key], member)
		}
		slices.Sort(renamed)
		for _, key := range renamed {
			changed[unused(changed, name(key))] = change(v[key], name, leaf)
		}
		if differs || renamed != nil {
			return changed
		}
		return v
	}
	return leaf(v)
}

// unused returns a name that data does not have yet: two members whose names are hidden alike stay two.
func unused(data map[string]any, name string) string {
	as := name
	for n := 2; ; n++ {
		if _, taken := data[as]; !taken {
			return as
		}
		as = fmt.Sprint(name, " ", n)
	}
}

// Error returns e as people may see it. In texts that may have been cut, it hides the part of a secret that was left
// beside the cut. Texts of the document stay as they are: catches compare them, and whoever reads it knows them.
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
		hidden.Detail = s.cut(s.show.Replace(e.Detail))
	}
	if e.Extensions != nil {
		hidden.Extensions, _ = change(s.Value(e.Extensions), s.show.Replace, func(v any) any {
			if text, ok := v.(string); ok {
				return s.cut(text)
			}
			return v
		}).(map[string]any)
	}
	return &hidden
}

func (s *Set) isPublic(text string) bool { return s.public != nil && s.public(text) }
