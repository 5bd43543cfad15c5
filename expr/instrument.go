package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

// The functions that charge for work of the machine without a native. Programs cannot contain their names. They return their input, so that paths
// through them stay intact.
const (
	nativeIterate       = "%iterate" // before .[]
	nativeConstantIndex = "%index"   // before .[n] and .[a:b] with constants
	nativeName          = "%name"    // before .name
	nativePatterns      = "%match"   // before the patterns of a destructuring; its argument is their shape
	nativeEndOfPath     = "%end"     // after a path
	nativeKey           = "%key"     // after the key of an object
)

// instrumenter inserts charges into the tree of a program. It changes the tree.
type instrumenter struct {
	catches bool // the program may catch errors in a loop, so their messages are charged
}

// instrument inserts charges into a program, also before calls of gojq's own definitions that iterate over their input.
func instrument(q *gojq.Query, w *walker) *gojq.Query {
	return instrumenter{w.catches}.query(define(q, w))
}

func (p instrumenter) query(q *gojq.Query) *gojq.Query {
	if q == nil {
		return nil
	}
	for _, f := range q.FuncDefs {
		p.query(f.Body)
	}
	if !assigns(q) {
		p.query(q.Left)
		if p.catches && isUpdate(q.Op) {
			q.Left = then(q.Left, callOf(nativeEndOfPath))
		}
	}
	p.query(q.Right)
	q.Left = p.destructured(q.Left, q.Patterns)
	if q.Term != nil {
		q.Term = p.term(q.Term)
	}
	return q
}

// isUpdate reports whether the left side of an operator is a path.
func isUpdate(op gojq.Operator) bool {
	switch op {
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv,
		gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return true
	}
	return false
}

// assigns reports whether q is = with a constant path, such as .a[0] = 1: gojq compiles it to one setpath, which is guarded.
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

func (p instrumenter) term(t *gojq.Term) *gojq.Term {
	p.index(t.Index)
	p.text(t.Str)
	p.query(t.Query)
	if t.Func != nil {
		p.call(t.Func)
	}
	if t.Array != nil {
		p.query(t.Array.Query)
	}
	if t.Unary != nil {
		t.Unary.Term = p.term(t.Unary.Term)
	}
	if t.Object != nil {
		for _, member := range t.Object.KeyVals {
			p.text(member.KeyString)
			p.queries([]*gojq.Query{member.KeyQuery, member.Val})
			member.KeyQuery = then(member.KeyQuery, callOf(nativeKey)) // the key may be a very long text
		}
	}
	p.control(t)
	for _, suffix := range t.SuffixList {
		p.index(suffix.Index)
	}
	return p.withCharges(t)
}

func (p instrumenter) control(t *gojq.Term) {
	switch {
	case t.If != nil:
		p.queries([]*gojq.Query{t.If.Cond, t.If.Then, t.If.Else})
		for _, branch := range t.If.Elif {
			p.queries([]*gojq.Query{branch.Cond, branch.Then})
		}
	case t.Try != nil:
		p.queries([]*gojq.Query{t.Try.Body, t.Try.Catch})
	case t.Reduce != nil:
		p.queries([]*gojq.Query{t.Reduce.Query, t.Reduce.Start, t.Reduce.Update})
		t.Reduce.Query = p.destructured(t.Reduce.Query, t.Reduce.Patterns)
	case t.Foreach != nil:
		p.queries([]*gojq.Query{t.Foreach.Query, t.Foreach.Start, t.Foreach.Update, t.Foreach.Extract})
		t.Foreach.Query = p.destructured(t.Foreach.Query, t.Foreach.Patterns)
	case t.Label != nil:
		p.query(t.Label.Body)
	}
}

func (p instrumenter) queries(queries []*gojq.Query) {
	for _, q := range queries {
		p.query(q)
	}
}

// call prepares the arguments of a function.
func (p instrumenter) call(f *gojq.Func) {
	p.queries(f.Args)
	switch f.Name {
	case "path", "del", "pick":
		if p.catches && len(f.Args) == 1 {
			f.Args[0] = then(f.Args[0], callOf(nativeEndOfPath))
		}
	}
}

func (p instrumenter) text(s *gojq.String) {
	if s == nil {
		return
	}
	for _, part := range s.Queries {
		if part.Term.Str == nil { // gojq takes literal parts as they are
			p.query(part)
		}
	}
}

func (p instrumenter) index(i *gojq.Index) {
	if i != nil {
		p.text(i.Str)
		p.queries([]*gojq.Query{i.Start, i.End})
	}
}

// withCharges returns t with its charges: E[] becomes (E | %iterate)[], and E[5] becomes (E | %index)[5].
func (p instrumenter) withCharges(t *gojq.Term) *gojq.Term {
	if name := p.chargeOf(t); name != "" {
		whole := *t
		whole.SuffixList = nil
		t = &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(callOf(name), &whole), SuffixList: t.SuffixList}
	}
	for i := 0; i < len(t.SuffixList); i++ {
		name := nativeIterate
		if suffix := t.SuffixList[i]; !suffix.Iter {
			name = p.chargeOfIndex(suffix.Index)
		}
		if name == "" {
			continue
		}
		before := *t
		before.SuffixList = t.SuffixList[:i:i]
		t = &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(&before, callOf(name)), SuffixList: t.SuffixList[i:]}
		i = 0
	}
	return t
}

func callOf(name string) *gojq.Term {
	return &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name}}
}

// then returns q | t, or nil without q.
func then(q *gojq.Query, t *gojq.Term) *gojq.Query {
	if q == nil {
		return nil
	}
	return &gojq.Query{Left: q, Op: gojq.OpPipe, Right: &gojq.Query{Term: t}}
}

func pipe(l, r *gojq.Term) *gojq.Query { return then(&gojq.Query{Term: l}, r) }

// chargeOf returns the name of the function that charges for the input of t itself, or "".
func (p instrumenter) chargeOf(t *gojq.Term) string {
	switch {
	case iterates(t):
		return nativeIterate
	case t.Type == gojq.TermTypeIndex:
		return p.chargeOfIndex(t.Index)
	case t.Type == gojq.TermTypeFunc && (t.Func.Name == "first" || t.Func.Name == "last"):
		return nativeConstantIndex
	}
	return ""
}

// chargeOfIndex returns the name of the function that charges for the value that an index is applied to, or "".
func (p instrumenter) chargeOfIndex(i *gojq.Index) string {
	_, named := plainKey(i)
	switch {
	case named && p.catches:
		return nativeName
	case !named && isNumbered(i):
		return nativeConstantIndex
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

// iterates reports whether t calls a definition of gojq's that begins with .[]. A program's own definition of the same name is
// charged too, which does no harm.
func iterates(t *gojq.Term) bool {
	if t.Type != gojq.TermTypeFunc {
		return false
	}
	switch t.Func.Name {
	case "map", "map_values", "to_entries", "from_entries", "with_entries", "walk", "all", "any", "min_by",
		"max_by", "sort_by", "group_by", "unique_by", "combinations", "del", "INDEX", "JOIN":
		return true
	}
	return false
}
