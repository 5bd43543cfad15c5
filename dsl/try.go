package dsl

// TryTask handles the errors of its tasks.
type TryTask struct {
	TaskBase
	Try   TaskList
	Catch Catch
}

// Kind returns KindTry.
func (*TryTask) Kind() Kind { return KindTry }

// Catch tells which errors a try handles, and how.
type Catch struct {
	Pointer    Pointer
	Errors     *ErrorFilter // nil matches every error
	As         string       // variable that holds the error, default error, without $
	When       Expression
	ExceptWhen Expression
	Retry      *RetryPolicy // nil if RetryUse names one
	RetryUse   string       // name in use.retries
	Do         TaskList     // nil if absent
	Then       string
}
