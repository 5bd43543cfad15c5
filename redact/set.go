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

// Set contains the secrets of one workflow. It is read-only. A nil Set hides nothing.
type Set struct {
	public     func(string) bool      // reports texts of errors that are never hidden; may be nil
	complete   bool                   // every secret of the workflow is known here
	texts      []string               // every spelling, the longest first
	shown      map[string]string      // the text that people see instead of a spelling
	refs       map[string]string      // the stored text instead of a spelling
	shortTexts map[string]replacement // secrets that are too short to be looked for inside other text
	numbers    map[string]replacement // secrets that are numbers, by formatNumber
	textOf     map[string]string      // by reference, the spelling that it replaces
	numberOf   map[string]any         // by reference, the number that it replaces
	show       *strings.Replacer
	seal       *strings.Replacer
	open       *strings.Replacer
	former     bool // the added value is a former one: its spellings are stored as spellings of the present value
}

// replacement replaces a value that is a secret as a whole.
type replacement struct{ shown, ref string }

// The minimum lengths in bytes of a secret, and of a line of a secret, that are searched inside other text.
const (
	minSecretLength = 4
	minLineLength   = 8
)

const marker = "‹redacted"

// New returns the set of some secrets, by name: text, numbers, or data with such leaves. complete reports that these are all secrets of the workflow,
// so that every reference in stored data is to one of them.
func New(secrets map[string]any, complete bool) *Set { return newSet(secrets, nil, complete) }

// newSet is New with earlier values of the secrets: they are hidden too, and their references lead to the present values.
func newSet(secrets map[string]any, former map[string][]any, complete bool) *Set {
	s := &Set{
		complete: complete, shown: map[string]string{}, refs: map[string]string{}, shortTexts: map[string]replacement{},
		numbers: map[string]replacement{}, textOf: map[string]string{}, numberOf: map[string]any{},
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		label, path := labels(name)
		s.add(label, path, secrets[name])
	}
	s.former = true
	for _, name := range slices.Sorted(maps.Keys(former)) {
		label, path := labels(name)
		for _, value := range former[name] {
			s.add(label, path, value)
		}
	}
	s.finish()
	return s
}

// isPlainName reports whether a name may be in a reference unchanged.
func isPlainName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("_-.", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return name != ""
}

// add adds the leaves of a secret. label is the name that people see; path distinguishes the leaves.
func (s *Set) add(label, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for i, name := range slices.Sorted(maps.Keys(v)) {
			leaf := name
			if !isPlainName(leaf) {
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
	if len(text) < minSecretLength {
		ref := reference(path)
		_, known := s.shortTexts[text]
		if text == "" || known || !s.isFree(ref) && !s.former {
			return
		}
		s.shortTexts[text] = replacement{reference(label), ref}
		if s.isFree(ref) {
			s.textOf[ref] = text
		}
		return
	}
	for _, form := range spellings(text) {
		s.addSpelling(label, path, form)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if len(lines) > 1 && len(line) >= minLineLength && !strings.HasPrefix(line, "-----") {
			s.addSpelling(label, path, spelling{"line " + strconv.Itoa(i+1), line})
		}
	}
}

func (s *Set) addSpelling(label, path string, form spelling) {
	if _, known := s.refs[form.text]; known || len(form.text) < minSecretLength {
		return
	}
	as := path
	if form.name != "" {
		as += ", " + form.name
	}
	for n := 2; !s.former && !s.isFree(reference(as)); n++ { // two secrets may have the same path
		as = fmt.Sprintf("%s, %s %d", path, form.name, n)
	}
	ref := reference(as)
	s.shown[form.text], s.refs[form.text] = reference(label), ref
	if s.isFree(ref) {
		s.textOf[ref] = form.text
	}
}

func (s *Set) isFree(ref string) bool { _, taken := s.textOf[ref]; return !taken }

func (s *Set) addNumber(label, path, text string) {
	v, ok := parseNumber(text)
	if !ok || len(formatNumber(v)) < minSecretLength {
		return
	}
	ref := reference(path + ", number")
	_, known := s.numbers[formatNumber(v)]
	_, taken := s.numberOf[ref]
	if !known && (!taken || s.former) {
		s.numbers[formatNumber(v)] = replacement{reference(label), ref}
	}
	if !known && !taken {
		s.numberOf[ref] = v
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

// formatNumber returns the text of a number.
func formatNumber(v any) string {
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

// finish makes the replacers. The longest text comes first, so that no part of a longer secret remains when a shorter one is
// part of it. Text that only looks like a reference gets an extra space when it is sealed.
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
	for _, ref := range slices.Sorted(maps.Keys(s.textOf)) {
		open = append(open, ref, s.textOf[ref])
	}
	if s.complete {
		seal, open = append(seal, marker, marker+" "), append(open, marker+" ", marker)
	}
	s.show, s.seal, s.open = strings.NewReplacer(show...), strings.NewReplacer(seal...), strings.NewReplacer(open...)
}
