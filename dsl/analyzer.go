package dsl

// Facts are the findings of an analysis of an expression, without evaluating it.
type Facts struct {
	Variables []Name     // $names that it does not bind itself
	Functions []Name     // functions that it calls and does not define itself
	Fields    [][]string // plain paths that it reads from its input: .a.b is [a b]
	Impure    bool       // its value depends on the clock
	Yields    string     // the kind of its value, such as "a number", if it is the same for every input; empty if it differs, or may be true or false
	Assigns   int        // offset in bytes into the source of the `=`, if the expression is an assignment, otherwise 0
}

// Name is a name in an expression.
type Name struct {
	Name   string   // of a variable without $
	Offset int      // in bytes into the source, or -1
	Arity  int      // of a function
	Known  bool     // of a function: it exists and may be called
	Reason string   // why an unknown function cannot be called, if there is a special reason
	Path   []string // of a variable: the plain path read from it
}

// Analyzer analyzes expressions for Check. Its errors are *ExpressionError.
type Analyzer interface {
	Analyze(source string) (Facts, error)
	Functions() []string // that may be called, for suggestions
}

// ExpressionError is a syntax error of an expression.
type ExpressionError struct {
	Offset, Length int // in bytes into the source
	Message        string
}

func (e *ExpressionError) Error() string { return e.Message }
