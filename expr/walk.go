package expr

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// mention is an occurrence of a name in a program: a function or a variable that it uses, defines or binds. Mentions are in the
// order of the text, so that place can find their offsets: gojq's tree has no positions.
type mention struct {
	name   string // variables with $
	arity  int
	free   bool // used, and neither defined nor bound by the program
	offset int
	path   []string // of a variable: the plain path read from it
}

func (m mention) isVariable() bool { return strings.HasPrefix(m.name, "$") }

// walker collects the mentions of names in a program, and the paths that it reads from its input.
type walker struct {
	mentions []mention
	fields   [][]string
	vars     []string // bound here
	defs     []def    // defined here
	root     bool     // . is the program's input here
	recurses bool     // it contains ..
	catches  bool     // it contains try, or ?
}

type def struct {
	name  string
	arity int
}

// survey walks a program and finds its mentions in the text.
func (s *source) survey(query *gojq.Query) *walker {
	w := &walker{root: true}
	w.query(query)
	s.place(w.mentions)
	return w
}

// place finds the offset of each mention among the tokens. If they do not agree one by one, all offsets become unknown (-1).
func (s *source) place(mentions []mention) {
	n := 0
	for _, t := range s.tokens {
		name := t.kind == identifier && !t.key && !isKeyword(t.text)
		if !name && t.kind != variable {
			continue
		}
		if n >= len(mentions) || mentions[n].name != t.text {
			n = -1
			break
		}
		mentions[n].offset = t.start
		n++
	}
	if n != len(mentions) {
		for i := range mentions {
			mentions[i].offset = -1
		}
	}
}

// scoped calls walk in a separate scope: bindings and definitions end with it. root reports whether . is the program's input.
func (w *walker) scoped(root bool, walk func()) {
	vars, defs, before := len(w.vars), len(w.defs), w.root
	w.root = root
	walk()
	w.vars, w.defs, w.root = w.vars[:vars], w.defs[:defs], before
}

func (w *walker) query(q *gojq.Query) {
	if q == nil {
		return
	}
	w.scoped(w.root, func() {
		for _, f := range q.FuncDefs {
			w.function(f)
		}
		switch {
		case q.Term != nil:
			w.term(q.Term)
		case len(q.Patterns) > 0:
			w.query(q.Left)
			w.patterns(q.Patterns)
			w.query(q.Right)
		case q.Op == gojq.OpPipe:
			w.query(q.Left)
			w.scoped(w.root && isIdentity(q.Left), func() { w.query(q.Right) })
		case q.Left != nil:
			w.query(q.Left)
			// The right side of an update runs on each part, and the right side of an assignment on the whole value.
			w.scoped(w.root && q.Op != gojq.OpModify, func() { w.query(q.Right) })
		}
	})
}

func isIdentity(q *gojq.Query) bool {
	return q.Term != nil && len(q.FuncDefs) == 0 && q.Term.Type == gojq.TermTypeIdentity && len(q.Term.SuffixList) == 0
}

func (w *walker) function(f *gojq.FuncDef) {
	w.mention(mention{name: f.Name})
	w.defs = append(w.defs, def{f.Name, len(f.Args)})
	w.scoped(false, func() {
		for _, name := range f.Args {
			w.mention(mention{name: name})
			if strings.HasPrefix(name, "$") {
				w.vars = append(w.vars, name)
			}
			w.defs = append(w.defs, def{strings.TrimPrefix(name, "$"), 0})
		}
		w.query(f.Body)
	})
}

func (w *walker) mention(m mention) { w.mentions = append(w.mentions, m) }

// patterns binds the variables of patterns. The variables of all alternatives are visible in each of them.
func (w *walker) patterns(patterns []*gojq.Pattern) {
	for _, p := range patterns {
		w.pattern(p)
	}
}

func (w *walker) pattern(p *gojq.Pattern) {
	if p == nil {
		return
	}
	if p.Name != "" {
		w.bind(p.Name)
	}
	for _, item := range p.Array {
		w.pattern(item)
	}
	for _, member := range p.Object {
		if strings.HasPrefix(member.Key, "$") {
			w.bind(member.Key)
		}
		w.scoped(false, func() {
			w.text(member.KeyString)
			w.query(member.KeyQuery)
		})
		w.pattern(member.Val)
	}
}

func (w *walker) bind(name string) {
	w.mention(mention{name: name})
	w.vars = append(w.vars, name)
}

func (w *walker) term(t *gojq.Term) {
	w.recurses = w.recurses || t.Type == gojq.TermTypeRecurse
	switch t.Type {
	case gojq.TermTypeIndex, gojq.TermTypeIdentity, gojq.TermTypeRecurse:
		w.notePath(t)
		w.index(t.Index)
	case gojq.TermTypeFunc:
		w.call(t)
	case gojq.TermTypeObject:
		for _, member := range t.Object.KeyVals {
			w.member(member)
		}
	case gojq.TermTypeArray:
		w.query(t.Array.Query)
	case gojq.TermTypeUnary:
		w.term(t.Unary.Term)
	case gojq.TermTypeFormat, gojq.TermTypeString:
		w.text(t.Str)
	case gojq.TermTypeQuery:
		w.query(t.Query)
	default:
		w.control(t)
	}
	for _, suffix := range t.SuffixList {
		w.catches = w.catches || suffix.Optional
		w.index(suffix.Index)
	}
}

func (w *walker) control(t *gojq.Term) {
	switch t.Type {
	case gojq.TermTypeIf:
		w.query(t.If.Cond)
		w.query(t.If.Then)
		for _, branch := range t.If.Elif {
			w.query(branch.Cond)
			w.query(branch.Then)
		}
		w.query(t.If.Else)
	case gojq.TermTypeTry:
		w.catches = true
		w.query(t.Try.Body)
		w.scoped(false, func() { w.query(t.Try.Catch) })
	case gojq.TermTypeReduce:
		w.loop(t.Reduce.Query, t.Reduce.Patterns, t.Reduce.Start, t.Reduce.Update, nil)
	case gojq.TermTypeForeach:
		w.loop(t.Foreach.Query, t.Foreach.Patterns, t.Foreach.Start, t.Foreach.Update, t.Foreach.Extract)
	case gojq.TermTypeLabel:
		w.mention(mention{name: t.Label.Ident})
		w.query(t.Label.Body)
	case gojq.TermTypeBreak:
		w.mention(mention{name: t.Break})
	}
}

// loop walks a reduce or foreach, whose start does not see the variables.
func (w *walker) loop(over *gojq.Query, patterns []*gojq.Pattern, start *gojq.Query, parts ...*gojq.Query) {
	w.scoped(w.root, func() {
		w.query(over)
		outside := slices.Clone(w.vars)
		w.patterns(patterns)
		inside := w.vars
		w.vars = outside
		w.query(start)
		w.vars = inside
		w.scoped(false, func() {
			for _, part := range parts {
				w.query(part)
			}
		})
	})
}

func (w *walker) call(t *gojq.Term) {
	f := t.Func
	m := mention{name: f.Name, arity: len(f.Args)}
	if m.isVariable() {
		m.free = !slices.Contains(w.vars, f.Name)
		m.path = plainPath(t.SuffixList)
	} else {
		m.free = !slices.Contains(w.defs, def{f.Name, m.arity})
	}
	w.mention(m)
	w.scoped(false, func() {
		for _, argument := range f.Args {
			w.query(argument)
		}
	})
}

func (w *walker) member(m *gojq.ObjectKeyVal) {
	switch {
	case strings.HasPrefix(m.Key, "$"):
		w.mention(mention{name: m.Key, free: !slices.Contains(w.vars, m.Key)})
	case m.Key != "" && m.Val == nil:
		w.field([]string{m.Key})
	case m.KeyString != nil && m.KeyString.Queries == nil && m.Val == nil:
		w.field([]string{m.KeyString.Str})
	}
	w.text(m.KeyString)
	w.query(m.KeyQuery)
	w.query(m.Val)
}

func (w *walker) text(s *gojq.String) {
	if s != nil {
		for _, part := range s.Queries {
			w.query(part)
		}
	}
}

func (w *walker) index(i *gojq.Index) {
	if i != nil {
		w.text(i.Str)
		w.query(i.Start)
		w.query(i.End)
	}
}

// notePath records the plain path at the beginning of a term.
func (w *walker) notePath(t *gojq.Term) {
	var path []string
	if t.Type == gojq.TermTypeIndex {
		name, ok := plainKey(t.Index)
		if !ok {
			return
		}
		path = append(path, name)
	}
	if path = append(path, plainPath(t.SuffixList)...); t.Type != gojq.TermTypeRecurse {
		w.field(path)
	}
}

func (w *walker) field(path []string) {
	if w.root && len(path) > 0 {
		w.fields = append(w.fields, path)
	}
}

// plainPath returns the names at the beginning of the suffixes.
func plainPath(suffixes []*gojq.Suffix) (path []string) {
	for _, suffix := range suffixes {
		if suffix.Optional {
			continue
		}
		name, ok := plainKey(suffix.Index)
		if !ok {
			break
		}
		path = append(path, name)
	}
	return path
}

// plainKey returns the name in .name, ."name" or ["name"].
func plainKey(i *gojq.Index) (string, bool) {
	switch {
	case i == nil || i.IsSlice:
		return "", false
	case i.Name != "":
		return i.Name, true
	case i.Str != nil:
		return i.Str.Str, i.Str.Queries == nil
	case i.Start == nil || i.Start.Term == nil || len(i.Start.FuncDefs) > 0 || len(i.Start.Term.SuffixList) > 0:
		return "", false
	}
	t := i.Start.Term
	if t.Type != gojq.TermTypeString || t.Str.Queries != nil {
		return "", false
	}
	return t.Str.Str, true
}
