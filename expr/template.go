package expr

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/swrun/swrun/errors"
)

// Template is JSON data in which strings may be expressions (semantics 2.4).
type Template struct {
	data      any
	root      part // nil if the data holds no expression
	variables []string
	impure    bool
	limits    limits
}

// TemplateError is a syntax error in a string inside a template.
type TemplateError struct {
	Path []any // keys (string) and positions (int) that lead to the string
	Err  *SyntaxError
}

// Error returns the path and the message.
func (e *TemplateError) Error() string {
	var b strings.Builder
	for _, step := range e.Path {
		switch step := step.(type) {
		case string:
			b.WriteString("." + step)
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		}
	}
	if b.Len() == 0 {
		return e.Err.Msg
	}
	return b.String() + ": " + e.Err.Msg
}

// Unwrap returns the syntax error.
func (e *TemplateError) Unwrap() error { return e.Err }

// part is a part of a template that contains an expression.
type part interface {
	eval(env *sharedWork, input any) (any, error)
}

// expression is a ${ } string.
type expression struct{ code *Code }

// looseExpression is a string of a loose template. It yields the value of the expression, or the string itself if that fails.
type looseExpression struct {
	code *Code
	text string
}

// object and array are the containers above expressions: data with some members replaced.
type object struct {
	data  map[string]any
	parts map[string]part
	order []string
}

type array struct {
	data  []any
	parts map[int]part
	order []int
}

// CompileTemplate compiles data whose ${ } strings are expressions; keys never are. With loose, every string is tried
// as an expression, and stays as it is if it does not compile or fails (semantics 2.5). It reports all errors
// (errors.Join of *TemplateError).
func CompileTemplate(data any, loose bool) (*Template, error) {
	c := &templateCompiler{Template: Template{data: data, limits: defaultLimits()}, loose: loose}
	c.root = c.part(data, nil)
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	slices.Sort(c.variables)
	c.variables = slices.Compact(c.variables)
	t := c.Template
	return &t, nil
}

type templateCompiler struct {
	Template
	loose bool
	errs  []error
}

// part returns nil for data without expressions.
func (c *templateCompiler) part(v any, path []any) part {
	switch v := v.(type) {
	case string:
		return c.text(v, path)
	case map[string]any:
		return c.object(v, path)
	case []any:
		return c.array(v, path)
	}
	return nil
}

func (c *templateCompiler) text(s string, path []any) part {
	delimited := Delimited(s)
	if !delimited && (!c.loose || strings.TrimSpace(s) == "") {
		return nil
	}
	code, err := Compile(s)
	if err != nil {
		var syntax *SyntaxError
		if delimited && errors.As(err, &syntax) {
			c.errs = append(c.errs, &TemplateError{Path: slices.Clone(path), Err: syntax})
		}
		return nil
	}
	c.variables = append(c.variables, code.variables...)
	c.impure = c.impure || code.impure
	if delimited {
		return expression{code}
	}
	return looseExpression{code, s}
}

func (c *templateCompiler) object(data map[string]any, path []any) part {
	o := &object{data: data, parts: map[string]part{}}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		if p := c.part(data[name], append(path, name)); p != nil {
			o.parts[name] = p
			o.order = append(o.order, name)
		}
	}
	if len(o.order) == 0 {
		return nil
	}
	return o
}

func (c *templateCompiler) array(data []any, path []any) part {
	a := &array{data: data, parts: map[int]part{}}
	for i, item := range data {
		if p := c.part(item, append(path, i)); p != nil {
			a.parts[i] = p
			a.order = append(a.order, i)
		}
	}
	if len(a.order) == 0 {
		return nil
	}
	return a
}

// Variables returns the names that the template's expressions use, sorted.
func (t *Template) Variables() []string { return t.variables }

// VisitExpressions calls visit for each expression of the template, with the keys (string) and positions (int) that lead to it.
func (t *Template) VisitExpressions(visit func(path []any, c *Code)) { codes(t.root, nil, visit) }

func codes(p part, path []any, visit func(path []any, c *Code)) {
	switch p := p.(type) {
	case expression:
		visit(path, p.code)
	case looseExpression:
		visit(path, p.code)
	case *object:
		for _, name := range p.order {
			codes(p.parts[name], append(slices.Clone(path), name), visit)
		}
	case *array:
		for _, i := range p.order {
			codes(p.parts[i], append(slices.Clone(path), i), visit)
		}
	}
}

// CodeAt returns the expression that makes the value at path (keys and positions). It returns nil if the value is literal, or
// if several expressions make it.
func (t *Template) CodeAt(path ...any) *Code {
	for p := t.root; ; path = path[1:] {
		switch at := p.(type) {
		case expression:
			return at.code
		case looseExpression:
			return at.code
		}
		if len(path) == 0 {
			return nil
		}
		switch at := p.(type) {
		case *object:
			name, _ := path[0].(string) // an object has no positions
			p = at.parts[name]
		case *array:
			i, _ := path[0].(int) // an array has no names
			p = at.parts[i]
		default:
			return nil
		}
	}
}

// Impure reports whether the template's value depends on the clock.
func (t *Template) Impure() bool { return t.impure }

// Literal returns the template's data if it holds no expression.
func (t *Template) Literal() (data any, ok bool) { return t.data, t.root == nil }

// Eval returns the data with every expression replaced by its value for input. Parts without an expression are shared with the data. Every error is
// an *errors.Error of type expression.
func (t *Template) Eval(env Env, input any) (any, error) {
	switch root := t.root.(type) {
	case nil:
		return t.data, nil
	case expression:
		return root.code.Eval(env, input)
	}
	shared := &sharedWork{Env: env, left: MaxCombinedWork}
	v, err := t.root.eval(shared, input)
	if shared.exceeded { // also if the template is loose, so that the failed expression became text
		err = CombinedWorkError()
	}
	if err != nil {
		return nil, err
	}
	if _, problem := t.limits.measure(v); problem != "" {
		return nil, errors.Expressionf("%s", problem)
	}
	return v, nil
}

// MaxCombinedWork limits the work of expressions that are evaluated one after the other without a check of deadlines, such as the expressions of a
// template, in the units of WorkCounter. It allows four expressions that use up their budgets.
const MaxCombinedWork = 4 * (1_000_000/stepsPerUnit + 10_000_000/workPerUnit)

// sharedWork is the environment of the expressions of one template, which share one budget of work.
type sharedWork struct {
	Env
	left     int
	exceeded bool // nothing was left for one of them
}

// CountWork takes units from the budget, and passes them on.
func (w *sharedWork) CountWork(units int) {
	w.left -= units
	if s, ok := w.Env.(WorkCounter); ok {
		s.CountWork(units)
	}
}

// Place returns the place of the environment.
func (w *sharedWork) Place() (at Place) {
	if in, ok := w.Env.(Placed); ok {
		at = in.Place()
	}
	return at
}

// eval evaluates one of the expressions if the budget is not used up.
func (w *sharedWork) eval(c *Code, input any) (any, error) {
	if w.exceeded = w.exceeded || w.left < 0; w.exceeded {
		return nil, CombinedWorkError()
	}
	return c.Eval(w, input)
}

// CombinedWorkError returns the error of expressions that together did more work than MaxCombinedWork.
func CombinedWorkError() *errors.Error {
	return errors.Expressionf("the expressions do too much work together")
}

func (e expression) eval(env *sharedWork, input any) (any, error) { return env.eval(e.code, input) }

func (a looseExpression) eval(env *sharedWork, input any) (any, error) {
	v, err := env.eval(a.code, input)
	if err != nil {
		return a.text, nil // semantics 2.5
	}
	return v, nil
}

func (o *object) eval(env *sharedWork, input any) (any, error) {
	members := make(map[string]any, len(o.data))
	if len(o.order) < len(o.data) {
		maps.Copy(members, o.data)
	}
	for _, name := range o.order {
		v, err := o.parts[name].eval(env, input)
		if err != nil {
			return nil, err
		}
		members[name] = v
	}
	return members, nil
}

func (a *array) eval(env *sharedWork, input any) (any, error) {
	items := slices.Clone(a.data)
	for _, i := range a.order {
		v, err := a.parts[i].eval(env, input)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}
