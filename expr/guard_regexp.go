package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"
)

// patterns caches the regular expressions of one call of match. Patterns may come from data, so that it keeps at most
// maxPatterns.
type patterns struct {
	mu    sync.Mutex
	known map[[2]string]*pattern
}

const maxPatterns = 64

// pattern is a regular expression in two forms: the original, and a form that continues a search. The second form starts at the rune before the place
// to continue from, so that ^ and \b see that rune; its group 1 is the whole match.
type pattern struct {
	find *regexp.Regexp
	next *regexp.Regexp
	size int // instructions
}

func (p *patterns) get(text, flags string) (*pattern, error) {
	key := [2]string{text, flags}
	p.mu.Lock()
	known := p.known[key]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := newPattern(text, flags)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPatterns {
		p.known = make(map[[2]string]*pattern, 1)
	}
	p.known[key] = made
	return made, nil
}

func newPattern(text, flags string) (*pattern, error) {
	if strings.Trim(flags, "gim") != "" {
		return nil, fmt.Errorf("unsupported regular expression flag: %q", flags)
	}
	if strings.Contains(flags, "i") {
		text = "(?i)" + text
	}
	if strings.Contains(flags, "m") {
		text = "(?s)" + text
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %q: %s", text, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return nil, fmt.Errorf("the regular expression %.50q is too complex", text)
	}
	find, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %q: %s", text, err)
	}
	next, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + text + `)`)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression %q: %s", text, err)
	}
	return &pattern{find: find, next: next, size: len(program.Inst)}, nil
}

// matchPatterns replaces gojq's _match, the base of test, match, capture, scan, split/2, sub and gsub. It has the same results,
// with a bounded cache and bounded patterns, in time that grows with the text and not with its square.
func matchPatterns(cache *patterns, f native, input any, args []any) any {
	s, ok := input.(string)
	text, isText := args[0].(string)
	flags, isFlags := args[1].(string)
	if !ok || !isText || args[1] != nil && !isFlags {
		return f(input, args) // a type error
	}
	m := meterOf(args)
	if len(text) > maxPattern {
		m.exceed("a regular expression is longer than %d bytes", maxPattern)
		return haltError()
	}
	p, err := cache.get(text, flags)
	if err != nil {
		return err
	}
	if !m.chargeWork(len(text) + product(len(s), p.size)/2) {
		return haltError()
	}
	switch {
	case args[2] == true:
		return p.find.MatchString(s)
	case strings.Contains(flags, "g"):
		return p.all(m, s)
	}
	found := []any{}
	if at := p.find.FindStringSubmatchIndex(s); at != nil {
		found = append(found, p.describe(s, at, utf8.RuneCountInString(s[:at[0]])))
	}
	return found
}

// all finds every match, also an empty one right after another.
func (p *pattern) all(m *meter, s string) any {
	found, runes, counted := []any{}, 0, 0
	for from := 0; from <= len(s); {
		at, read := p.search(s, from)
		if !m.chargeWork(product(read, p.size) / 2) {
			return haltError()
		}
		if at == nil {
			break
		}
		if !m.chargeBytes(512*(len(at)/2) + at[1] - at[0]) {
			return haltError()
		}
		runes += utf8.RuneCountInString(s[counted:at[0]])
		counted = at[0]
		found = append(found, p.describe(s, at, runes))
		if from = at[1]; at[0] == at[1] {
			_, width := utf8.DecodeRuneInString(s[from:])
			from += max(width, 1)
		}
	}
	return found
}

// search returns the leftmost match at or after from, as positions in s, and how many bytes it read to find it, which may be
// the rest of the text for each match. It returns 0 for the first search, which was charged before.
func (p *pattern) search(s string, from int) (at []int, read int) {
	if from == 0 {
		return p.find.FindStringSubmatchIndex(s), 0
	}
	_, width := utf8.DecodeLastRuneInString(s[:from])
	rest := strings.NewReader(s[from-width:])
	at = p.next.FindReaderSubmatchIndex(rest)
	read = len(s) - (from - width) - rest.Len()
	if at == nil {
		return nil, read
	}
	at = at[2:]
	for i := range at {
		if at[i] >= 0 {
			at[i] += from - width
		}
	}
	return at, read
}

// describe returns jq's match object; runes is the position of the match in characters.
func (p *pattern) describe(s string, at []int, runes int) any {
	names := p.find.SubexpNames()
	captures := make([]any, len(at)/2-1)
	for i := range captures {
		var name any
		if names[i+1] != "" {
			name = names[i+1]
		}
		start, end := at[2*i+2], at[2*i+3]
		if start < 0 {
			captures[i] = map[string]any{"name": name, "offset": -1, "length": 0, "string": nil}
			continue
		}
		captures[i] = map[string]any{
			"name": name, "offset": runes + utf8.RuneCountInString(s[at[0]:start]),
			"length": utf8.RuneCountInString(s[start:end]), "string": s[start:end],
		}
	}
	return map[string]any{
		"offset": runes, "length": utf8.RuneCountInString(s[at[0]:at[1]]),
		"string": s[at[0]:at[1]], "captures": captures,
	}
}
