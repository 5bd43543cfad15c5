package redact

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Set is the secrets of one workflow. It is read-only. A nil Set hides nothing.
type Set struct {
	public  func(string) bool // texts of errors that are no secrets; may be nil
	whole   bool              // every secret of the workflow is known here
	texts   []string          // every spelling, the longest first
	shown   map[string]string // what people see instead of a spelling
	refs    map[string]string // what is stored instead of a spelling
	short   map[string]short  // text that is nothing but a short secret
	numbers map[string]short  // by how they are written
	spelt   map[string]string // the spelling that a reference stands for
	counted map[string]any    // the number that a reference stands for
	show    *strings.Replacer
	seal    *strings.Replacer
	open    *strings.Replacer
}

// short is what stands for a value that is a secret as a whole.
type short struct{ shown, ref string }

// The lengths from which a secret is looked for: inside of other text, and as a line of its own.
const (
	shortest     = 4
	shortestLine = 8
)

const marker = "‹redacted"

// New returns the set of some secrets, by name: text, numbers, or data with such leaves. Whole says that no other
// secret of the workflow is known elsewhere, so that every reference in stored data is to one of these.
func New(secrets map[string]any, whole bool) *Set {
	s := &Set{
		whole: whole, shown: map[string]string{}, refs: map[string]string{}, short: map[string]short{},
		numbers: map[string]short{}, spelt: map[string]string{}, counted: map[string]any{},
	}
	for i, name := range slices.Sorted(maps.Keys(secrets)) {
		label, path := name, name
		if !plain(label) {
			label, path = "secret", "secret "+strconv.Itoa(i)
		}
		s.add(label, path, secrets[name])
	}
	s.finish()
	return s
}

// plain reports whether a name can stand in a reference.
func plain(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("_-.", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return name != ""
}

// add takes in the leaves of a secret; label is what people see, path tells the leaves apart.
func (s *Set) add(label, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for i, name := range slices.Sorted(maps.Keys(v)) {
			leaf := name
			if !plain(leaf) {
				leaf = strconv.Itoa(i)
			}
			s.add(label, path+"."+leaf, v[name])
		}
	case []any:
		for i, item := range v {
			s.add(label, path+"."+strconv.Itoa(i), item)
		}
	case nil, bool:
	case string:
		s.addText(label, path, v)
	default:
		s.addText(label, path, fmt.Sprint(v))
	}
}

func (s *Set) addText(label, path, text string) {
	text = strings.TrimSpace(text)
	s.addNumber(label, path, text)
	if len(text) < shortest {
		if ref := reference(path); text != "" && s.free(ref) {
			s.short[text], s.spelt[ref] = short{reference(label), ref}, text
		}
		return
	}
	for _, form := range spellings(text) {
		s.addSpelling(label, path, form)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if len(lines) > 1 && len(line) >= shortestLine && !strings.HasPrefix(line, "-----") {
			s.addSpelling(label, path, spelling{"line " + strconv.Itoa(i+1), line})
		}
	}
}

func (s *Set) addSpelling(label, path string, form spelling) {
	if _, known := s.refs[form.text]; known || len(form.text) < shortest {
		return
	}
	as := path
	if form.name != "" {
		as += ", " + form.name
	}
	for n := 2; !s.free(reference(as)); n++ { // two names that look alike
		as = fmt.Sprintf("%s, %s %d", path, form.name, n)
	}
	ref := reference(as)
	s.shown[form.text], s.refs[form.text], s.spelt[ref] = reference(label), ref, form.text
}

func (s *Set) free(ref string) bool { _, taken := s.spelt[ref]; return !taken }

func (s *Set) addNumber(label, path, text string) {
	v, ok := parseNumber(text)
	if !ok || len(written(v)) < shortest {
		return
	}
	ref := reference(path + ", number")
	_, known := s.numbers[written(v)]
	if _, taken := s.counted[ref]; !known && !taken {
		s.numbers[written(v)], s.counted[ref] = short{reference(label), ref}, v
	}
}

// parseNumber returns the number that text is.
func parseNumber(text string) (any, bool) {
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" {
		return nil, false
	}
	if n, ok := new(big.Int).SetString(text, 10); ok {
		if n.IsInt64() {
			return int(n.Int64()), true
		}
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// written returns how a number is written.
func written(v any) string {
	f, ok := v.(float64)
	switch {
	case !ok:
		return fmt.Sprint(v)
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return strconv.Itoa(int(f))
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func reference(label string) string { return marker + ": " + label + "›" }

// finish makes the replacers. The longest text comes first, so that no part of a longer secret stays when a shorter one
// is part of it. What looks like a reference and is none gets a space more when it is sealed.
func (s *Set) finish() {
	s.texts = slices.SortedFunc(maps.Keys(s.refs), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var show, seal, open []string
	for _, text := range s.texts {
		show = append(show, text, s.shown[text])
		seal = append(seal, text, s.refs[text])
	}
	for _, ref := range slices.Sorted(maps.Keys(s.spelt)) {
		open = append(open, ref, s.spelt[ref])
	}
	if s.whole {
		seal, open = append(seal, marker, marker+" "), append(open, marker+" ", marker)
	}
	s.show, s.seal, s.open = strings.NewReplacer(show...), strings.NewReplacer(seal...), strings.NewReplacer(open...)
}
