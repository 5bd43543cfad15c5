package expr

import "github.com/swrun/swrun/errors"

// EvalError says which expression could not be evaluated, for which input. It wraps the error that says why.
type EvalError struct {
	Code  *Code
	Input any
	Err   error
}

// Error returns why the evaluation failed.
func (f *EvalError) Error() string { return f.Err.Error() }

// Unwrap returns the error that says why.
func (f *EvalError) Unwrap() error { return f.Err }

// ConditionError says that a condition is neither true nor false. Its value is not part of the message, because it may be
// large or secret.
type ConditionError struct{ Yielded any }

// Error says what a condition must be.
func (e *ConditionError) Error() string { return "a condition must be true or false" }

// Unwrap returns a workflow error with the same message.
func (e *ConditionError) Unwrap() error { return errors.Expressionf("%s", e.Error()) }
