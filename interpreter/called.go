package interpreter

import (
	"time"

	"github.com/swrun/swrun/errors"
)

// called returns the target of the effect that is performed inside of a scope that times out, in the form of errors.MemberRequest. Of several effects
// it returns the target of the effect that began first, because that effect has taken the longest. If no effect is performed, it returns the target
// of the last failed call inside of a try that waits for its next attempt. It returns nil if there is no target or if the target is not known.
func (m *machine) called(inside []frame) (member map[string]any) {
	var longest *taskFrame
	for _, f := range inside {
		task, ok := f.(*taskFrame)
		if ok && member == nil {
			member, _ = task.Called.(map[string]any)
		}
		if !ok || task.Effect == nil || task.node.kind.Reached == nil {
			continue
		}
		if longest == nil || task.Effect.ID < longest.Effect.ID {
			longest = task
		}
	}
	if longest == nil {
		return member
	}
	body := longest.Effect.Request
	if body == nil { // it holds a secret, which is hidden in the error
		body = m.requestAgain(longest)
	}
	return longest.node.kind.Reached(Request{Body: body})
}

// requestAgain computes a request that was not stored. The time of the step stays unchanged. It returns nil if the secrets of the request are
// missing.
func (m *machine) requestAgain(f *taskFrame) []byte {
	defer func(now time.Time) { m.now = now }(m.now)
	body, err := m.recomputeRequest(f)
	if err != nil {
		return nil
	}
	return body
}

// withCall adds the target of the call to the timeout error of a scope.
func (m *machine) withCall(e *errors.Error, inside []frame) *errors.Error {
	if member := m.called(inside); member != nil {
		return e.With(errors.MemberRequest, member)
	}
	return e
}
