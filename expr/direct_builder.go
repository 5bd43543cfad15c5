package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// builder makes nodes of expressions that do not need the jq machine; for all others, ok is false.
type builder struct {
	variables        []string
	buildsContainers bool // objects or arrays are made
}

func (b *builder) query(q *gojq.Query) (n node, ok bool) {
	switch {
	case q == nil || len(q.FuncDefs) > 0 || len(q.Patterns) > 0:
		return nil, false
	case q.Term != nil:
		return b.term(q.Term)
	case q.Op == gojq.OpPipe:
		return b.pipe(q)
	}
	left, ok := b.query(q.Left)
	if !ok {
		return nil, false
	}
	right, ok := b.query(q.Right)
	if !ok {
		return nil, false
	}
	return b.operator(q.Op, left, right)
}

func (b *builder) operator(op gojq.Operator, left, right node) (node, bool) {
	switch op {
	case gojq.OpAlt:
		return &alternative{left, right}, true
	case gojq.OpAnd:
		return &conditional{left, &truthiness{right}, &literal{false}}, true
	case gojq.OpOr:
		return &conditional{left, &literal{true}, &truthiness{right}}, true
	}
	if name := nativeOf(op); name != "" {
		return &operator{op, left, right, guarded(name, 2, engine.native(name, 2))}, true
	}
	return nil, false
}

// pipe makes a | b unless a builds a container: a long chain of such values could grow without bound.
func (b *builder) pipe(q *gojq.Query) (node, bool) {
	inner := &builder{variables: b.variables}
	first, ok := inner.query(q.Left)
	if !ok || inner.buildsContainers {
		return nil, false
	}
	then, ok := b.query(q.Right)
	return &sequence{first, then}, ok
}

func (b *builder) term(t *gojq.Term) (node, bool) {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return b.path(&path{variable: noVariable}, t.SuffixList)
	case gojq.TermTypeIndex:
		suffixes := append([]*gojq.Suffix{{Index: t.Index}}, t.SuffixList...)
		return b.path(&path{variable: noVariable}, suffixes)
	case gojq.TermTypeFunc:
		return b.call(t)
	}
	if len(t.SuffixList) > 0 {
		return nil, false
	}
	switch t.Type {
	case gojq.TermTypeNull:
		return &literal{nil}, true
	case gojq.TermTypeTrue:
		return &literal{true}, true
	case gojq.TermTypeFalse:
		return &literal{false}, true
	case gojq.TermTypeNumber, gojq.TermTypeUnary:
		return b.number(t)
	case gojq.TermTypeString:
		return b.text(t.Str)
	case gojq.TermTypeQuery:
		return b.query(t.Query)
	case gojq.TermTypeObject:
		return b.object(t.Object)
	case gojq.TermTypeArray:
		return b.array(t.Array)
	case gojq.TermTypeIf:
		return b.branch(t.If.Cond, t.If.Then, t.If.Elif, t.If.Else)
	}
	return nil, false
}

func (b *builder) path(p *path, suffixes []*gojq.Suffix) (node, bool) {
	for _, suffix := range suffixes {
		if name, ok := plainKey(suffix.Index); ok {
			p.steps = append(p.steps, step{name: name, key: name, named: true})
			continue
		}
		if suffix.Index == nil || suffix.Index.IsSlice || suffix.Index.Start == nil || suffix.Index.Start.Term == nil ||
			len(suffix.Index.Start.FuncDefs) > 0 {
			return nil, false
		}
		i, ok := whole(suffix.Index.Start.Term)
		if !ok {
			return nil, false
		}
		p.steps = append(p.steps, step{key: i, index: i})
	}
	return p, true
}

// whole reads a whole number, with or without a sign.
func whole(t *gojq.Term) (int, bool) {
	if len(t.SuffixList) > 0 {
		return 0, false
	}
	switch t.Type {
	case gojq.TermTypeNumber:
		i, err := strconv.Atoi(t.Number)
		return i, err == nil
	case gojq.TermTypeUnary:
		i, ok := whole(t.Unary.Term)
		if t.Unary.Op == gojq.OpSub {
			i = -i
		}
		return i, ok && t.Unary.Term.Type == gojq.TermTypeNumber
	}
	return 0, false
}

func (b *builder) number(t *gojq.Term) (node, bool) {
	if i, ok := whole(t); ok {
		return &literal{i}, true
	}
	if t.Type != gojq.TermTypeNumber || !strings.ContainsAny(t.Number, ".eE") {
		return nil, false
	}
	f, err := strconv.ParseFloat(t.Number, 64)
	return &literal{f}, err == nil
}

func (b *builder) text(s *gojq.String) (node, bool) {
	if s.Queries == nil {
		return &literal{s.Str}, true
	}
	t := &text{show: guarded("tostring", 0, engine.native("tostring", 0))}
	for _, part := range s.Queries {
		n, ok := b.query(part)
		if !ok {
			return nil, false
		}
		t.parts = append(t.parts, n)
	}
	return t, len(t.parts) > 0
}

func (b *builder) object(o *gojq.Object) (node, bool) {
	b.buildsContainers = true
	n := &record{}
	for _, member := range o.KeyVals {
		name, value, ok := b.member(member)
		if !ok || slices.Contains(n.names, name) {
			return nil, false
		}
		n.names = append(n.names, name)
		n.values = append(n.values, value)
	}
	return n, true
}

func (b *builder) member(m *gojq.ObjectKeyVal) (name string, value node, ok bool) {
	switch {
	case strings.HasPrefix(m.Key, "$"):
		if m.Val != nil {
			return "", nil, false
		}
		value, ok = b.variable(m.Key)
		return m.Key[1:], value, ok
	case m.Key != "":
		name = m.Key
	case m.KeyString != nil && m.KeyString.Queries == nil:
		name = m.KeyString.Str
	default:
		return "", nil, false
	}
	if m.Val == nil {
		return name, &path{variable: noVariable, steps: []step{{name: name, key: name, named: true}}}, true
	}
	value, ok = b.query(m.Val)
	return name, value, ok
}

func (b *builder) array(a *gojq.Array) (node, bool) {
	b.buildsContainers = true
	n := &list{}
	var add func(q *gojq.Query) bool
	add = func(q *gojq.Query) bool {
		if q.Op == gojq.OpComma && q.Term == nil && len(q.FuncDefs) == 0 {
			return add(q.Left) && add(q.Right)
		}
		item, ok := b.query(q)
		n.items = append(n.items, item)
		return ok
	}
	return n, a.Query == nil || add(a.Query)
}

func (b *builder) branch(cond, yes *gojq.Query, more []*gojq.IfElif, no *gojq.Query) (node, bool) {
	n := &conditional{no: &path{variable: noVariable}}
	var ok, also bool
	if n.cond, ok = b.query(cond); !ok {
		return nil, false
	}
	if n.yes, also = b.query(yes); !also {
		return nil, false
	}
	switch {
	case len(more) > 0:
		n.no, ok = b.branch(more[0].Cond, more[0].Then, more[1:], no)
	case no != nil:
		n.no, ok = b.query(no)
	}
	return n, ok
}

func (b *builder) call(t *gojq.Term) (node, bool) {
	f := t.Func
	if strings.HasPrefix(f.Name, "$") {
		i := slices.Index(b.variables, f.Name[1:])
		if i < 0 {
			return nil, false
		}
		return b.path(&path{variable: i}, t.SuffixList)
	}
	if len(t.SuffixList) > 0 || len(f.Args) > 4 || !isDirect(f.Name) {
		return nil, false
	}
	if f.Name == "not" {
		return &conditional{&path{variable: noVariable}, &literal{false}, &literal{true}}, len(f.Args) == 0
	}
	n := &call{}
	original := engine.native(f.Name, len(f.Args))
	if original == nil {
		return nil, false
	}
	n.f = guarded(f.Name, len(f.Args), original)
	for _, argument := range f.Args {
		a, ok := b.query(argument)
		if !ok {
			return nil, false
		}
		n.args = append(n.args, a)
	}
	return n, true
}

func (b *builder) variable(name string) (node, bool) {
	i := slices.Index(b.variables, name[1:])
	return &path{variable: i}, i >= 0
}

// isDirect reports whether a function is a plain native, which yields one value for one input.
func isDirect(name string) bool {
	switch name {
	case "length", "utf8bytelength", "not", "keys", "has", "add", "toboolean", "tonumber", "tostring", "type", "reverse",
		"contains", "inside", "startswith", "endswith", "ltrimstr", "rtrimstr", "trimstr", "ltrim", "rtrim", "trim", "split",
		"join", "ascii_downcase", "ascii_upcase", "tojson", "fromjson", "flatten", "min", "max", "sort", "unique", "floor",
		"round", "ceil", "trunc", "sqrt", "fabs", "now", "mktime", "gmtime", "strftime", "strptime", "index", "rindex":
		return true
	}
	return false
}
