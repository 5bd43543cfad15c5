package dsl

import "github.com/swrun/swrun/dsl/source"

// KindTry is the kind of TryTask.
const KindTry Kind = "try"

// TryTask handles the errors of its tasks.
type TryTask struct {
	TaskBase
	Try   TaskList
	Catch Catch
}

// Kind returns KindTry.
func (*TryTask) Kind() Kind { return KindTry }

// Traits implements Task.
func (t *TryTask) Traits() Traits { return Traits{First: t.Try} }

func (t *TryTask) binds() []string { return []string{t.Catch.As} }

func (t *TryTask) parts(w *walker) {
	w.list(t, t.Try)
	w.reference(t.Catch.RetryUse)
	outer := w.bind(t.binds())
	w.expression(propertyCatchWhen, t.Catch.When)
	w.expression(propertyCatchExceptWhen, t.Catch.ExceptWhen)
	w.retry(t.Catch.Retry)
	w.list(t, t.Catch.Do)
	w.variables = outer
}

func (t *TryTask) jumps() (all []jump, exhaustive bool) {
	if t.Catch.Then != "" {
		all = append(all, jump{t.Catch.Pointer.Key("then"), t.Catch.Then})
	}
	return all, false
}

// mayComplete assumes that any error may be caught.
func (t *TryTask) mayComplete(c *checker) bool {
	return c.listMayComplete(t.Try) || c.listMayComplete(t.Catch.Do)
}

// boundedLists: a retry policy bounds each attempt, and all of them with the catch.
func (t *TryTask) boundedLists(c *checker, inner scope) []boundedList {
	attempt := inner
	if policy := c.w.RetryPolicyOf(&t.Catch); policy != nil {
		inner = inner.limitedBy(policy.LimitDuration)
		attempt = inner.limitedBy(policy.AttemptDuration)
	}
	return []boundedList{{t.Try, attempt}, {t.Catch.Do, inner}}
}

// Catch specifies the errors that a try handles, and their handling.
type Catch struct {
	Pointer    Pointer
	Errors     *ErrorFilter // nil matches every error
	As         string       // variable that contains the error, default error, without $
	When       Expression
	ExceptWhen Expression
	Retry      *RetryPolicy // nil if RetryUse names a policy
	RetryUse   Reference    // in use.retries
	Do         TaskList     // nil if absent
	Then       string
	delays     []*Duration // metadata.swrun.backoffList of the task: for its policy
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
		ExceptWhen: c.expression("exceptWhen"), Do: c.tasks("do"), Then: c.text("then"), delays: base.Engine.BackoffList,
	}
	switch retry := c.value("retry"); {
	case retry == nil:
	case source.IsText(retry):
		t.Catch.RetryUse = c.reference("retry", "retries")
	default:
		t.Catch.Retry = p.retryPolicy(retry, c.at.Key("retry"))
	}
	return t
}
