package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

// iterator is the function that charges for .[]; no program can write its name. It returns its input, which keeps
// paths through it intact.
const iterator = "%iterate"

// reacher is the same for .[n] and .[a:b] with constants.
const reacher = "%reach"

// prepare puts the iterator before each .[] of a program, and before gojq's own definitions that iterate over their
// input; and the reacher before each .[n] and .[a:b]. It changes the tree, which belongs to the caller.
func prepare(q *gojq.Query) *gojq.Query {
	if q == nil {
		return nil
	}
	for _, f := range q.FuncDefs {
		prepare(f.Body)
	}
	if !assigns(q) {
		prepare(q.Left)
	}
	prepare(q.Right)
	for _, p := range q.Patterns {
		preparePattern(p)
	}
	if q.Term != nil {
		q.Term = prepareTerm(q.Term)
	}
	return q
}

// assigns reports whether q is = with a constant path, such as .a[0] = 1: gojq makes one setpath of it, which has a
// guard.
func assigns(q *gojq.Query) bool {
	if q.Left == nil || q.Left.Term == nil || q.Op != gojq.OpAssign {
		return false
	}
	t := q.Left.Term
	isPath := t.Type == gojq.TermTypeIdentity || t.Type == gojq.TermTypeIndex && isConstantIndex(t.Index)
	return isPath && !slices.ContainsFunc(t.SuffixList, func(s *gojq.Suffix) bool { return s.Index == nil || !isConstantIndex(s.Index) })
}

func isConstantIndex(i *gojq.Index) bool {
	return i.Name != "" || i.Str != nil && i.Str.Queries == nil || isNumbered(i)
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
			member.KeyQuery = chargedKey(member.KeyQuery)
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

// charged returns t with what charges for it: E[] becomes (E | iterator)[], and E[5] becomes (E | reacher)[5].
func charged(t *gojq.Term) *gojq.Term {
	if name := chargeOf(t); name != "" {
		whole := *t
		whole.SuffixList = nil
		t = &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(charge(name), &whole), SuffixList: t.SuffixList}
	}
	for i := 0; i < len(t.SuffixList); i++ {
		name := ""
		switch suffix := t.SuffixList[i]; {
		case suffix.Iter:
			name = iterator
		case isNumbered(suffix.Index):
			name = reacher
		default:
			continue
		}
		before := *t
		before.SuffixList = t.SuffixList[:i:i]
		t = &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(&before, charge(name)), SuffixList: t.SuffixList[i:]}
		i = 0
	}
	return t
}

func charge(name string) *gojq.Term {
	return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name}}
}

// chargedKey returns the expression of an object's key with a charge for it: it may be a very long text.
func chargedKey(q *gojq.Query) *gojq.Query {
	if q == nil {
		return nil
	}
	return &gojq.Query{Left: q, Op: gojq.OpPipe, Right: &gojq.Query{Term: charge(reacher)}}
}

func pipe(l, r *gojq.Term) *gojq.Query {
	return &gojq.Query{Left: &gojq.Query{Term: l}, Op: gojq.OpPipe, Right: &gojq.Query{Term: r}}
}

// chargeOf names what charges for the input of t itself, or is empty.
func chargeOf(t *gojq.Term) string {
	switch {
	case iterates(t):
		return iterator
	case t.Type == gojq.TermTypeIndex && isNumbered(t.Index),
		t.Type == gojq.TermTypeFunc && (t.Func.Name == "first" || t.Func.Name == "last"):
		return reacher
	}
	return ""
}

// isNumbered reports whether i is [n], [a:b], [a:] or [:b] with constants.
func isNumbered(i *gojq.Index) bool {
	if i == nil || i.Start == nil && i.End == nil {
		return false
	}
	return isConstant(i.Start) && isConstant(i.End)
}

func isConstant(q *gojq.Query) bool {
	if q == nil {
		return true
	}
	if q.Term == nil {
		return false
	}
	switch q.Term.Type {
	case gojq.TermTypeNumber, gojq.TermTypeUnary, gojq.TermTypeString:
		return true
	}
	return false
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
