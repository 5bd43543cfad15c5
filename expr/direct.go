package expr

import (
	"strconv"

	"github.com/itchyny/gojq"
)

// A node is an expression that always yields one value or one error, and that is evaluated without the jq machine. Most expressions of workflows are
// nodes: paths, literals, objects, arithmetic, comparisons, texts with interpolations. All operations that are not trivial are left to gojq's
// natives, so that values and errors are jq's own. Parts are evaluated in the machine's order, so that the first error is the same.
type node interface {
	eval(r *run, input any) (any, error)
}

// run is one evaluation of a node.
type run struct {
	code   *Code
	env    Env
	values [4]any // of the first variables
	more   []any  // of the others
	meter  *meter // once a native is called
	texts  int    // bytes of text built
	args   *[32]any
}

// evalDirect evaluates c without the jq machine.
func (c *Code) evalDirect(env Env, input any) (any, error) {
	r := &run{code: c, env: env}
	defer r.end()
	for i, name := range c.variables {
		if i < len(r.values) {
			r.values[i] = env.Variable(name)
		} else {
			r.more = append(r.more, env.Variable(name))
		}
	}
	v, err := c.direct.eval(r, input)
	if r.meter != nil && r.meter.exceeded != "" {
		return nil, r.meter.failure(nil)
	}
	if err != nil {
		return nil, reportedError(err)
	}
	if _, plain := c.direct.(*path); plain {
		return v, nil // a part of a value that exists already
	}
	return c.checkResult(v)
}

func (r *run) variable(i int) any {
	if i < len(r.values) {
		return r.values[i]
	}
	return r.more[i-len(r.values)]
}

// end ends the evaluation.
func (r *run) end() {
	if r.meter != nil {
		r.meter.end()
	}
}

// budget returns the meter. It is created on demand, because most evaluations do not need it.
func (r *run) budget() *meter {
	if r.meter == nil {
		r.meter = r.code.newMeter(r.env)
	}
	return r.meter
}

// call calls a native, with the meter in the last element of the argument array, as the machine does.
func (r *run) call(f native, input any, values ...any) (any, error) {
	m := r.budget()
	if r.args == nil {
		r.args = new([32]any)
		r.args[len(r.args)-1] = m
	}
	n := copy(r.args[:30], values)
	v := f(input, r.args[:n])
	if err, failed := v.(error); failed {
		return nil, err
	}
	return v, nil
}

// literal is a constant.
type literal struct{ v any }

func (l *literal) eval(*run, any) (any, error) { return l.v, nil }

const noVariable = -1

// path is . or $variable, and steps from there.
type path struct {
	variable int
	steps    []step
}

// step is a key, or an index if key is nil.
type step struct {
	name  string
	key   any // the name or the index as the native takes it
	index int
	named bool
}

func (p *path) eval(r *run, input any) (any, error) {
	if p.variable != noVariable {
		input = r.variable(p.variable)
	}
	return p.follow(r, input)
}

// follow takes the steps from v. r is nil if the path is the whole expression: reading its input once need not be charged.
func (p *path) follow(r *run, v any) (any, error) {
	for i := range p.steps {
		s := &p.steps[i]
		switch container := v.(type) {
		case nil:
			return nil, nil
		case map[string]any:
			if s.named {
				v = container[s.name]
				continue
			}
		case []any:
			if !s.named {
				v = item(container, s.index)
				continue
			}
		}
		if r != nil && !r.budget().chargeReading(v) {
			return nil, &gojq.HaltError{}
		}
		next := indexing(nil, []any{v, s.key})
		if err, failed := next.(error); failed {
			return nil, err
		}
		v = next
	}
	return v, nil
}

// indexing is jq's index operation, for steps that are not plain.
var indexing = engine.native("_index", 2)

// record makes an object, list an array.
type record struct {
	names  []string
	values []node
}

type list struct{ items []node }

func (o *record) eval(r *run, input any) (any, error) {
	members := make(map[string]any, len(o.names))
	for i, name := range o.names {
		v, err := o.values[i].eval(r, input)
		if err != nil {
			return nil, err
		}
		members[name] = v
	}
	return members, nil
}

func (a *list) eval(r *run, input any) (any, error) {
	items := make([]any, len(a.items))
	for i, n := range a.items {
		v, err := n.eval(r, input)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

// sequence is a | b.
type sequence struct{ first, then node }

func (s *sequence) eval(r *run, input any) (any, error) {
	v, err := s.first.eval(r, input)
	if err != nil {
		return nil, err
	}
	return s.then.eval(r, v)
}

// call is a native with arguments.
type call struct {
	f    native
	args []node
}

func (c *call) eval(r *run, input any) (any, error) {
	var few [4]any
	values := few[:len(c.args)]
	for i := len(c.args) - 1; i >= 0; i-- {
		v, err := c.args[i].eval(r, input)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return r.call(c.f, input, values...)
}

// conditional is if, and, or, not: it yields yes if cond is neither false nor null, and no otherwise.
type conditional struct{ cond, yes, no node }

func (b *conditional) eval(r *run, input any) (any, error) {
	v, err := b.cond.eval(r, input)
	if err != nil {
		return nil, err
	}
	if isTruthy(v) {
		return b.yes.eval(r, input)
	}
	return b.no.eval(r, input)
}

func isTruthy(v any) bool { return v != nil && v != false }

// alternative is a // b.
type alternative struct{ first, other node }

func (a *alternative) eval(r *run, input any) (any, error) {
	v, err := a.first.eval(r, input)
	if err != nil || isTruthy(v) {
		return v, err
	}
	return a.other.eval(r, input)
}

// truthiness turns a value into true or false.
type truthiness struct{ of node }

func (t *truthiness) eval(r *run, input any) (any, error) {
	v, err := t.of.eval(r, input)
	if err != nil {
		return nil, err
	}
	return isTruthy(v), nil
}

// maxFreeText is the maximum number of bytes of text that an evaluation builds without a charge.
const maxFreeText = 64 << 10

// text is a string with interpolations.
type text struct {
	parts []node
	show  native // tostring
}

func (t *text) eval(r *run, input any) (any, error) {
	var few [8]string
	texts, size := few[:], 0
	if len(t.parts) > len(few) {
		texts = make([]string, len(t.parts))
	}
	for i := len(t.parts) - 1; i >= 0; i-- {
		v, err := t.parts[i].eval(r, input)
		if err != nil {
			return nil, err
		}
		if texts[i], err = t.string(r, v); err != nil {
			return nil, err
		}
		size += len(texts[i])
	}
	if r.texts += size; r.texts > maxFreeText && !r.budget().chargeBytes(size) {
		return nil, &gojq.HaltError{}
	}
	b := make([]byte, 0, size)
	for _, s := range texts[:len(t.parts)] {
		b = append(b, s...)
	}
	return string(b), nil
}

func (t *text) string(r *run, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	}
	shown, err := r.call(t.show, v)
	if err != nil {
		return "", err
	}
	return shown.(string), nil
}
