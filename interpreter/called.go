package interpreter

import (
	"time"

	"github.com/swrun/swrun/errors"
)

// called returns what the effect was to reach that is performed inside of a scope that times out, as the member errors.MemberRequest says it. Of
// several effects it is the one that began first: it has taken the longest. If nothing is performed, it is the call that has failed last inside of a try that
// waits for its next attempt. It is nil if there is none, or if it is not known.
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

// requestAgain computes a request that was not stored, for which the time of the step stays as it is. It is nil without the secrets of the request.
func (m *machine) requestAgain(f *taskFrame) []byte {
	defer func(now time.Time) { m.now = now }(m.now)
	body, err := m.recomputeRequest(f)
	if err != nil {
		return nil
	}
	return body
}

// withCall adds what was to be reached to the timeout error of a scope.
func (m *machine) withCall(e *errors.Error, inside []frame) *errors.Error {
	if member := m.called(inside); member != nil {
		return e.With(errors.MemberRequest, member)
	}
	return e
}
