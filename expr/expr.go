package expr

import (
	"time"
)

// Env is what an expression may use besides its input.
type Env interface {
	// Variable returns the value of $name; it is asked once per evaluation for each variable that the code uses.
	Variable(name string) any
	// Now returns the clock of the step: what jq's now yields.
	Now() time.Time
}

// SyntaxError is text that is no jq program.
type SyntaxError struct {
	Offset int    // byte offset into the source as given, delimiters included
	Token  string // the offending token, empty at the end of the text
	Msg    string
}

func (e *SyntaxError) Error() string { panic("expr") }

// Code is a compiled expression. It is safe for concurrent use.
type Code struct{}

// Compile compiles a jq program, with or without ${ } around it. Every error is a *SyntaxError: bad syntax, an
// unknown function, or one that is not allowed (env, input, modules...).
func Compile(source string) (*Code, error) { panic("expr") }

// Variables returns the names, without $, that c uses and does not bind itself, sorted.
func (c *Code) Variables() []string { panic("expr") }

// Impure reports whether c's value depends on the clock.
func (c *Code) Impure() bool { panic("expr") }

// Eval returns c's value for input: its one output, an array of several, null of none (semantics 2.6).
// Every error is an *errors.Error of type expression.
func (c *Code) Eval(env Env, input any) (any, error) { panic("expr") }

// Test evaluates c as a condition: true or false; null is false, anything else an error (semantics 2.7).
func (c *Code) Test(env Env, input any) (bool, error) { panic("expr") }

// Template is JSON data in which strings may be expressions (semantics 2.4).
type Template struct{}

// TemplateError is a syntax error in a string inside a template.
type TemplateError struct {
	Path []any // keys (string) and positions (int) that lead to the string
	Err  *SyntaxError
}

func (e *TemplateError) Error() string { panic("expr") }
func (e *TemplateError) Unwrap() error { return e.Err }

// CompileTemplate compiles data whose ${ } strings are expressions; keys never are. With loose, any string is tried
// as an expression and stays as it is if it does not compile or fails (semantics 2.5). It reports all errors
// (errors.Join of *TemplateError).
func CompileTemplate(data any, loose bool) (*Template, error) { panic("expr") }

// Variables returns the names that the template's expressions use, sorted.
func (t *Template) Variables() []string { panic("expr") }

// Impure reports whether the template's value depends on the clock.
func (t *Template) Impure() bool { panic("expr") }

// Literal returns the template's data if it holds no expression.
func (t *Template) Literal() (data any, ok bool) { panic("expr") }

// Eval returns the data with every expression replaced by its value for input.
func (t *Template) Eval(env Env, input any) (any, error) { panic("expr") }

// Delimited reports whether s is one expression as a whole: ${ ... } but for white space around it (semantics 2.1).
func Delimited(s string) bool { panic("expr") }

// Facts is what can be told of an expression without evaluating it.
type Facts struct {
	Variables []Ref    // $names that it does not bind itself, in order of appearance
	Functions []Ref    // functions it calls and does not define itself
	Fields    [][]string // plain paths that it reads from its input: .a.b is [a b]
	Impure    bool
}

// Ref is a name in an expression.
type Ref struct {
	Name   string // variables without $
	Arity  int    // of a function
	Offset int    // byte offset into the source as given, or -1
	Known  bool   // of a function: it exists and is allowed
	Path   []string // of a variable: the plain path read from it, $secrets.db.password is [db password]
}

// Analyze returns the facts of an expression, with or without ${ }. Every error is a *SyntaxError; unknown functions
// are no error here.
func Analyze(source string) (Facts, error) { panic("expr") }

// Functions returns the names of the functions that expressions may call, sorted, for suggestions.
func Functions() []string { panic("expr") }

// Decode reads one JSON value into the types that expressions work on: nil, bool, int, float64, json.Number for
// numbers that neither holds exactly, string, []any, map[string]any. Anything after the value is an error.
func Decode(data []byte) (any, error) { panic("expr") }

// Encode writes a value as JSON on one line, keys sorted, without escaping HTML. NaN is null and infinities are the
// largest numbers, as in jq.
func Encode(v any) ([]byte, error) { panic("expr") }

// Normalize turns v, made of any Go types that encoding/json would write, into the types of Decode.
func Normalize(v any) (any, error) { panic("expr") }
