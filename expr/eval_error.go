package expr

import "github.com/swrun/swrun/errors"

// EvalError names the expression that could not be evaluated, and its input. It wraps the error that explains why.
type EvalError struct {
	Code  *Code
	Input any
	Err   error
}

// Error returns why the evaluation failed.
func (f *EvalError) Error() string { return f.Err.Error() }

// Unwrap returns the error that explains why.
func (f *EvalError) Unwrap() error { return f.Err }

// ConditionError reports that a condition is neither true nor false. Its value is not part of the message, because it may be large or secret.
type ConditionError struct{ Yielded any }

// Error describes valid conditions.
func (e *ConditionError) Error() string { return "a condition must be true or false" }

// Unwrap returns a workflow error with the same message.
func (e *ConditionError) Unwrap() error { return errors.Expressionf("%s", e.Error()) }
