package runtime_test

import (
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
)

// TestWhatMustNotBeRetriedIsNot is promise 198: a try around an activity does not retry it after an error that its worker marked, unless
// the condition of the policy names the mark. The rest of the catch applies.
func TestWhatMustNotBeRetriedIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		policy  string
		marked  bool
		retried bool
	}{
		"marked": {"delay: PT1S", true, false},
		"marked, and the policy asks for something else": {"delay: PT1S, when: .status == 500", true, false},
		"marked, and the policy asks for it":             {"delay: PT1S, when: .nonRetryable", true, true},
		"not marked":                                     {"delay: PT1S", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			withActivities(t, func(a *activities) {
				i := a.start("do: [{t: {try: [{x: {call: 'activity:1.0.0@default', with: {type: x}}}], catch: {retry: {"+c.policy+", limit: {attempt: {count: 3}}}, do: [{s: {set: {caught: true}}}]}}}]", client.StartOptions{})
				a.must(a.matcher.Fail(a.Context(), a.poll().Token, errors.Runtimef("broken"), c.marked))
				if c.retried {
					a.must(a.matcher.Complete(a.Context(), a.poll().Token, map[string]any{"done": true}))
				}
				a.expect(a.wait(i).Output, map[string]any{map[bool]string{true: "done", false: "caught"}[c.retried]: true})
				if got := len(a.retries(i, interpreter.RetryScheduled)); (got > 0) != c.retried {
					a.Errorf("it was retried %d times", got)
				}
			})
		})
	}
}
