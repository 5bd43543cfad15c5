package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/swrun/swrun/errors"
)

// Env is the environment of an expression besides its input.
type Env interface {
	// Variable returns the value of $name. It is called once per evaluation for each variable that the code uses.
	Variable(name string) any
	// Now returns the clock of the step, which is the value of jq's now.
	Now() time.Time
}

// WorkCounter is an Env that counts the work of evaluations: CountWork is called after each one, with units of about a
// microsecond. They are counted and not measured, so that they are the same on every machine.
type WorkCounter interface{ CountWork(units int) }

// Code is a compiled expression. It is safe for concurrent use.
type Code struct {
	text             string   // the source of the expression
	variables        []string // without $, sorted
	impure           bool
	direct           node       // the evaluation without the jq machine, or nil
	buildsContainers bool       // direct makes objects or arrays, which are checked like the machine's results
	program          *gojq.Code // nil if direct is set
	limits           limits
}

// Compile compiles a jq program, with or without ${ } around it. Every error is a *SyntaxError: bad syntax, an unknown function, or a function that
// is not allowed (env, input, modules...).
func Compile(given string) (*Code, error) { return compile(given, true) }

// compile compiles an expression; without direct, every evaluation uses the jq machine.
func compile(given string, direct bool) (*Code, error) {
	s, err := newSource(given)
	if err != nil {
		return nil, err
	}
	query, err := s.parse()
	if err != nil {
		return nil, err
	}
	w := s.survey(query)
	if err := s.check(w); err != nil {
		return nil, err
	}
	c := &Code{text: given, impure: w.impure(), limits: defaultLimits()}
	names := w.variables()
	for _, name := range names {
		c.variables = append(c.variables, name[1:])
	}
	if direct {
		b := &builder{variables: c.variables}
		if n, ok := b.query(query); ok {
			c.direct, c.buildsContainers = n, b.buildsContainers
			return c, nil
		}
	}
	if c.program, err = s.program(query, w); err != nil {
		return nil, err
	}
	return c, nil
}

// program compiles the tree for the jq machine, with guards.
func (s *source) program(query *gojq.Query, w *walker) (*gojq.Code, error) {
	code, err := gojq.Compile(instrument(query, w), append(additions(), gojq.WithVariables(w.variables()))...)
	if err != nil {
		return nil, s.compileError(err)
	}
	engine.replaceNatives(code, guarded)
	return code, nil
}

// additions are functions that gojq lacks.
func additions() []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithFunction(nativeIterate, 0, 0, chargingNative(chargeIterate)),
		gojq.WithFunction(nativeConstantIndex, 0, 0, chargingNative(chargeConstantIndex)),
		gojq.WithFunction(nativeName, 0, 0, chargingNative(chargeName)),
		gojq.WithFunction(nativeKey, 0, 0, chargingNative(chargeKey)),
		gojq.WithFunction(nativeEndOfPath, 0, 0, chargingNative(chargeEndOfPath)),
		gojq.WithFunction(nativePatterns, 1, 1, chargingNative(chargePatterns)),
		gojq.WithFunction(nativeSeconds, 0, 0, secondsOf),
		gojq.WithFunction("debug", 0, 0, passThrough), gojq.WithFunction("stderr", 0, 0, passThrough),
	}
}

// passThrough is jq's debug and stderr: it returns its input. Nothing is written, because expressions have no side effects.
func passThrough(input any, _ []any) any { return input }

// compileError explains an error of gojq's compiler. The error is about a label, because all other errors were found before.
func (s *source) compileError(err error) *SyntaxError {
	name := "break"
	text := err.Error()
	if label, ok := strings.CutPrefix(text, "label not defined: "); ok {
		return s.fail(s.find(name).start, name, "break "+label+" stands outside of label "+label)
	}
	return s.fail(0, "", text)
}

// Variables returns the names, without $, that c uses and does not bind itself, sorted.
func (c *Code) Variables() []string { return c.variables }

// Text returns the source of the expression.
func (c *Code) Text() string { return c.text }

// Eval returns c's value for input: its only output, an array of several outputs, or null without an output (semantics 2.6). Every error is an
// *EvalError around an *errors.Error of type expression.
func (c *Code) Eval(env Env, input any) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, errors.Expressionf("%s", panicMessage(r))
		}
		if err != nil {
			err = &EvalError{Code: c, Input: input, Err: err}
		}
	}()
	if p, ok := c.direct.(*path); ok && p.variable == noVariable {
		return withReportedError(p.follow(nil, input))
	}
	if c.direct != nil {
		return c.evalDirect(env, input)
	}
	return c.run(env, input)
}

// panicMessage returns the message for a panic of gojq, which panics on values that are not JSON.
func panicMessage(r any) string {
	text := fmt.Sprint(r)
	if strings.HasPrefix(text, "invalid type: ") {
		return "the expression meets a value that is not JSON"
	}
	return truncate("the expression fails unexpectedly: " + text)
}

func (c *Code) newMeter(env Env) *meter { return &meter{limits: c.limits, env: env} }

// run evaluates with the jq machine.
func (c *Code) run(env Env, input any) (any, error) {
	m := c.newMeter(env)
	defer m.end()
	var few [4]any
	values := few[:0]
	for _, name := range c.variables {
		values = append(values, env.Variable(name))
	}
	iter := c.program.RunWithContext(m, input, values...)
	engine.attach(iter, m)
	first, ok := iter.Next()
	var outputs []any // several outputs, if there are several
	for v := first; ok; {
		if failure, failed := v.(error); failed || m.exceeded != "" {
			return nil, m.failure(failure)
		}
		next, more := iter.Next()
		if !more {
			break
		}
		if outputs == nil {
			outputs = []any{first}
		}
		outputs = append(outputs, next)
		v = next
	}
	if m.exceeded != "" {
		return nil, m.failure(nil)
	}
	if outputs != nil {
		first = outputs
	}
	return c.checkResult(first)
}

// checkResult checks a value that the evaluation built against the limits.
func (c *Code) checkResult(v any) (any, error) {
	v, problem := c.limits.checkResult(v)
	if problem != "" {
		return nil, errors.Expressionf("%s", problem)
	}
	return v, nil
}

// failure returns an error about the exceeded limit, or else the error of the machine.
func (m *meter) failure(err error) error {
	if m.exceeded != "" {
		return errors.Expressionf("%s", m.exceeded)
	}
	return reportedError(err)
}

func withReportedError(v any, err error) (any, error) {
	if err != nil {
		return nil, reportedError(err)
	}
	return v, nil
}

// reportedError turns an error of the jq machine into a workflow error.
func reportedError(err error) error {
	if value, ok := err.(gojq.ValueError); ok {
		if text, ok := value.Value().(string); ok {
			return errors.Expressionf("%s", truncate(text))
		}
		return errors.Expressionf("error: %s", gojq.Preview(value.Value()))
	}
	return errors.Expressionf("%s", truncate(err.Error()))
}

func truncate(s string) string {
	if len(s) <= maxDetail {
		return s
	}
	cut := maxDetail
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + " ..."
}

// EvalCondition evaluates c as a condition: true or false; null is false, anything else an error (semantics 2.7), which is a
// *EvalError around a *ConditionError.
func (c *Code) EvalCondition(env Env, input any) (bool, error) {
	v, err := c.Eval(env, input)
	if err != nil {
		return false, err
	}
	switch v := v.(type) {
	case bool:
		return v, nil
	case nil:
		return false, nil
	}
	return false, &EvalError{Code: c, Input: input, Err: &ConditionError{Yielded: v}}
}

func mebibytes(n int) string { return strconv.Itoa(n>>20) + " MiB" }
func decimals(n int) string  { return strconv.Itoa(n) }
