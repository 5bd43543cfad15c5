package expr

import "github.com/swrun/swrun/errors"

// EvalError is an evaluation that failed: of which expression, for which input. It wraps the error that says why.
type EvalError struct {
	Code  *Code
	Input any
	Err   error
}

// Error returns why the evaluation failed.
func (f *EvalError) Error() string { return f.Err.Error() }

// Unwrap returns the error that says why.
func (f *EvalError) Unwrap() error { return f.Err }

// ConditionError is a condition that is neither true nor false. What it has yielded is not part of the message: it may
// be large, and it may be secret.
type ConditionError struct{ Yielded any }

// Error says what a condition must be.
func (e *ConditionError) Error() string { return "a condition must be true or false" }

// Unwrap returns the same as a workflow error.
func (e *ConditionError) Unwrap() error { return errors.Expressionf("%s", e.Error()) }
