package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Facts are the results of an analysis of an expression without evaluating it.
type Facts struct {
	Variables []Ref      // $names that it does not bind itself, in order of appearance
	Functions []Ref      // functions that it calls and does not define itself
	Fields    [][]string // plain paths that it reads from its input: .a.b is [a b]
	Impure    bool       // its value depends on the clock
	Yields    string     // type of its value for every input, such as "a number"; empty if it depends on the input, or may be true or false
	Assigns   int        // the offset of the `=` if it is an assignment, or 0
}

// Ref is a name in an expression.
type Ref struct {
	Name   string   // variables without $
	Arity  int      // of a function
	Offset int      // byte offset into the source as given, or -1
	Known  bool     // of a function: it exists and is allowed
	Path   []string // of a variable: the plain path read from it, $secrets.db.password is [db password]
}

// Analyze returns the facts of an expression, with or without ${ } around it. Every error is a *SyntaxError; unknown functions
// are not an error here.
func Analyze(given string) (Facts, error) {
	s, err := newSource(given)
	if err != nil {
		return Facts{}, err
	}
	query, err := s.parse()
	if err != nil {
		return Facts{}, err
	}
	w := s.survey(query)
	facts := Facts{Fields: w.fields, Impure: w.impure(), Yields: yields(query), Assigns: s.assignment(query)}
	if facts.Assigns > 0 {
		facts.Assigns += s.start
	}
	for _, m := range w.mentions {
		if !m.free {
			continue
		}
		ref := Ref{Name: m.name, Arity: m.arity, Offset: m.offset, Path: m.path}
		if ref.Offset >= 0 {
			ref.Offset += s.start
		}
		if m.isVariable() {
			ref.Name = m.name[1:]
			facts.Variables = append(facts.Variables, ref)
			continue
		}
		ref.Known = slices.Contains(builtins()[m.name], m.arity)
		facts.Functions = append(facts.Functions, ref)
	}
	return facts, nil
}

// impure reports whether the expression calls a function whose value depends on the clock or on the time zone.
func (w *walker) impure() bool {
	return slices.ContainsFunc(w.mentions, func(m mention) bool {
		return m.free && (m.name == "now" || m.name == "localtime" || m.name == "strflocaltime")
	})
}

// variables returns the names, with $, that the program does not bind itself, sorted.
func (w *walker) variables() []string {
	var names []string
	for _, m := range w.mentions {
		if m.free && m.isVariable() && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	slices.Sort(names)
	return names
}

// check returns an error for the first name that is not available.
func (s *source) check(w *walker) error {
	for _, m := range w.mentions {
		if !m.free {
			continue
		}
		if message := unavailable(m); message != "" {
			return s.fail(m.offset, m.name, message+s.dashHint(m.offset))
		}
	}
	for _, t := range s.tokens {
		if t.kind == format && !isFormat(t.text) {
			return s.fail(t.start, t.text, "unknown format "+shorten.To(t.text, maxShown))
		}
	}
	return nil
}

// dashHint returns a hint for .foo-bar, which is a subtraction, or "".
func (s *source) dashHint(offset int) string {
	if offset < 2 || s.text[offset-1] != '-' || !isLetter(s.text[offset-2]) && !isDigit(s.text[offset-2]) {
		return ""
	}
	return `; put a name with a dash in quotes: ."a-b"`
}

func isFormat(name string) bool {
	switch name {
	case "@text", "@json", "@html", "@uri", "@urid", "@csv", "@tsv", "@sh", "@base64", "@base64d", "@base32", "@base32d":
		return true
	}
	return false
}

// unavailable returns why an expression cannot use a name, or "".
func unavailable(m mention) string {
	if what := forbidden(m.name); what != "" {
		return m.name + " is not available: expressions cannot use " + what
	}
	if strings.Contains(m.name, "::") {
		return m.name + " is not available: expressions cannot use modules"
	}
	arities, known := builtins()[m.name]
	switch {
	case m.isVariable() || slices.Contains(arities, m.arity):
		return ""
	case !known:
		if near := suggest.Nearest(m.name, Functions()); near != "" {
			return "unknown function " + shorten.To(m.name, maxShown) + ", did you mean " + near + "?"
		}
		return "unknown function " + shorten.To(m.name, maxShown)
	}
	return m.name + " takes " + arityText(arities) + ", got " + strconv.Itoa(m.arity)
}

// arityText formats numbers of arguments: "0 or 1 arguments".
func arityText(arities []int) string {
	texts := make([]string, len(arities))
	for i, n := range slices.Sorted(slices.Values(arities)) {
		texts[i] = strconv.Itoa(n)
	}
	text := strings.Join(texts, " or ") + " argument"
	if text != "1 argument" {
		text += "s"
	}
	return text
}
