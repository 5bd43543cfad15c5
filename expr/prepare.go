package expr

import "github.com/itchyny/gojq"

// iterator is the function that charges for .[]; no program can write its name. It returns its input, which keeps
// paths through it intact.
const iterator = "%iterate"

// prepare puts the iterator before each .[] of a program, and before gojq's own definitions that iterate over their
// input. It changes the tree, which belongs to the caller.
func prepare(q *gojq.Query) *gojq.Query {
	if q == nil {
		return nil
	}
	for _, f := range q.FuncDefs {
		prepare(f.Body)
	}
	prepare(q.Left)
	prepare(q.Right)
	for _, p := range q.Patterns {
		preparePattern(p)
	}
	if q.Term != nil {
		q.Term = prepareTerm(q.Term)
	}
	return q
}

func prepareTerm(t *gojq.Term) *gojq.Term {
	prepareIndex(t.Index)
	prepareText(t.Str)
	prepare(t.Query)
	if t.Func != nil {
		prepareAll(t.Func.Args)
	}
	if t.Array != nil {
		prepare(t.Array.Query)
	}
	if t.Unary != nil {
		t.Unary.Term = prepareTerm(t.Unary.Term)
	}
	if t.Object != nil {
		for _, member := range t.Object.KeyVals {
			prepareText(member.KeyString)
			prepareAll([]*gojq.Query{member.KeyQuery, member.Val})
		}
	}
	prepareControl(t)
	for _, suffix := range t.SuffixList {
		prepareIndex(suffix.Index)
	}
	return charged(t)
}

func prepareControl(t *gojq.Term) {
	switch {
	case t.If != nil:
		prepareAll([]*gojq.Query{t.If.Cond, t.If.Then, t.If.Else})
		for _, branch := range t.If.Elif {
			prepareAll([]*gojq.Query{branch.Cond, branch.Then})
		}
	case t.Try != nil:
		prepareAll([]*gojq.Query{t.Try.Body, t.Try.Catch})
	case t.Reduce != nil:
		prepareAll([]*gojq.Query{t.Reduce.Query, t.Reduce.Start, t.Reduce.Update})
		preparePatterns(t.Reduce.Patterns)
	case t.Foreach != nil:
		prepareAll([]*gojq.Query{t.Foreach.Query, t.Foreach.Start, t.Foreach.Update, t.Foreach.Extract})
		preparePatterns(t.Foreach.Patterns)
	case t.Label != nil:
		prepare(t.Label.Body)
	}
}

func prepareAll(queries []*gojq.Query) {
	for _, q := range queries {
		prepare(q)
	}
}

func preparePatterns(patterns []*gojq.Pattern) {
	for _, p := range patterns {
		preparePattern(p)
	}
}

func preparePattern(p *gojq.Pattern) {
	if p == nil {
		return
	}
	preparePatterns(p.Array)
	for _, member := range p.Object {
		prepareText(member.KeyString)
		prepare(member.KeyQuery)
		preparePattern(member.Val)
	}
}

func prepareText(s *gojq.String) {
	if s == nil {
		return
	}
	for _, part := range s.Queries {
		if part.Term.Str == nil { // gojq takes literal parts as they are
			prepare(part)
		}
	}
}

func prepareIndex(i *gojq.Index) {
	if i != nil {
		prepareText(i.Str)
		prepareAll([]*gojq.Query{i.Start, i.End})
	}
}

// charged returns t with the iterator where it iterates: E[] becomes (E | iterator)[].
func charged(t *gojq.Term) *gojq.Term {
	charge := &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: iterator}}
	if iterates(t) {
		whole := *t
		whole.SuffixList = nil
		t = &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(charge, &whole), SuffixList: t.SuffixList}
	}
	for i := 0; i < len(t.SuffixList); i++ {
		if !t.SuffixList[i].Iter {
			continue
		}
		before := *t
		before.SuffixList = t.SuffixList[:i:i]
		t = &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(&before, charge), SuffixList: t.SuffixList[i:]}
		i = 0
	}
	return t
}

func pipe(l, r *gojq.Term) *gojq.Query {
	return &gojq.Query{Left: &gojq.Query{Term: l}, Op: gojq.OpPipe, Right: &gojq.Query{Term: r}}
}

// iterates reports whether t calls a definition of gojq's that begins with .[]; a program's own definition of the
// same name is charged too, which does no harm.
func iterates(t *gojq.Term) bool {
	if t.Type == gojq.TermTypeRecurse {
		return true
	}
	if t.Type != gojq.TermTypeFunc {
		return false
	}
	switch t.Func.Name {
	case "map", "map_values", "recurse", "to_entries", "from_entries", "with_entries", "walk", "all", "any", "min_by",
		"max_by", "sort_by", "group_by", "unique_by", "paths", "tostream", "combinations", "del", "INDEX", "JOIN":
		return true
	}
	return false
}
