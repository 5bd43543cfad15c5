package runtime_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/matching"
)

// TestLateReports are refused and recorded (promises 33, 213). Repeating an accepted report is not a late report. The reported attempt is a
// failure.
func TestLateReports(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.activity("timeouts: {startToClose: PT1S}, retry: {maxAttempts: 2, backoff: [PT1S]}")
		first := a.poll()
		second := a.poll()
		a.expect(first.Activity.Key == second.Activity.Key && first.Token != second.Token, true) // promises 211, 212
		var superseded *matching.SupersededError
		for range 2 {
			if err := a.matcher.Complete(a.Context(), first.Token, "first"); !errors.As(err, &superseded) {
				a.Errorf("the first attempt: %v", err)
			}
		}
		for range 2 {
			if err := a.matcher.Complete(a.Context(), second.Token, "second"); err != nil {
				a.Errorf("the second attempt: %v", err)
			}
		}
		if err := a.matcher.Fail(a.Context(), second.Token, errors.Runtimef("no"), false); !errors.As(err, &superseded) {
			a.Errorf("another report of the same attempt: %v", err)
		}
		a.expect(a.wait(i).Output, "second")
		a.expect(a.events(i), "effect.retried 1 start_to_close by w1, result.late 1 by w1, effect.finished 2 by w1, result.late 2 by w1")
		a.expect(a.review(i), "/do/0/outer/try/0/work: timeout start_to_close retried\nfrom "+i.String()+"\n") // promises 44 and 204
	})
}

// TestRepeatedReports: repeating an accepted report returns the first answer. A different report of the same attempt is refused and
// recorded once, even if it is repeated (promises 213).
func TestRepeatedReports(t *testing.T) {
	withActivities(t, func(a *activities) {
		broken, other := errors.Runtimef("it broke"), errors.Runtimef("it broke again")
		for name, c := range map[string]struct {
			report func(token string) error
			others []func(token string) error
		}{
			"a result": {
				func(token string) error {
					return a.matcher.Complete(a.Context(), token, map[string]any{"a": 1, "b": "x"})
				},
				[]func(string) error{
					func(token string) error {
						return a.matcher.Complete(a.Context(), token, map[string]any{"a": 2, "b": "x"})
					},
					func(token string) error { return a.matcher.Complete(a.Context(), token, nil) },
				},
			},
			"no result": {
				func(token string) error { return a.matcher.Complete(a.Context(), token, nil) },
				[]func(string) error{func(token string) error { return a.matcher.Complete(a.Context(), token, "") }},
			},
			"a failure": {
				func(token string) error { return a.matcher.Fail(a.Context(), token, broken, false) },
				[]func(string) error{
					func(token string) error { return a.matcher.Fail(a.Context(), token, other, false) },
					func(token string) error { return a.matcher.Fail(a.Context(), token, broken, true) },
				},
			},
		} {
			i := a.activity("")
			token := a.poll().Token
			for range 3 {
				if err := c.report(token); err != nil {
					a.Errorf("%s: %v", name, err)
				}
			}
			var superseded *matching.SupersededError
			for _, other := range slices.Concat(c.others, c.others) {
				if err := other(token); !errors.As(err, &superseded) {
					a.Errorf("after %s, another report of the same attempt: %v", name, err)
				}
			}
			a.wait(i)
			a.expect(a.events(i), "effect.finished 1 by w1"+strings.Repeat(", result.late 1 by w1", len(c.others)))
		}
	})
}
