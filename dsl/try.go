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

func parseTry(p *parser, o *object, base TaskBase) Task {
	t := &TryTask{TaskBase: base, Try: o.tasks("try"), Catch: Catch{Pointer: o.at.Key("catch"), As: "error"}}
	o.require("catch")
	n := o.value("catch")
	if n == nil {
		return t
	}
	c := p.object(n, t.Catch.Pointer, "`catch`", "errors", "as", "when", "exceptWhen", "retry", "do", "then")
	t.Catch = Catch{
		Pointer: c.at, Errors: p.errorFilter(c), As: c.variable("as", "error"), When: c.expression("when"),
		ExceptWhen: c.expression("exceptWhen"), Do: c.tasks("do"), Then: c.text("then"),
	}
	switch retry := c.value("retry"); {
	case retry == nil:
	case isText(retry):
		t.Catch.RetryUse = c.text("retry")
	default:
		t.Catch.Retry = p.retryPolicy(retry, c.at.Key("retry"))
	}
	return t
}
