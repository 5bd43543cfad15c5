package faultreport

import (
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/execution"
)

// TestExchange: the report of a failed call contains the request and the answer, for errors that contain them.
func TestExchange(t *testing.T) {
	refused := errors.Communicationf("overloaded").With("request", map[string]any{"method": "POST", "uri": "https://api.pay.test/charge"})
	for _, c := range []struct {
		name, sent, got string
		fault           *errors.Error
	}{
		{"a response", "POST https://api.pay.test/charge", "503  overloaded", refused.With("response", map[string]any{"statusCode": 503})},
		{"no response", "POST https://api.pay.test/charge", "", refused},
		{"no call", "", "", errors.Runtimef("boom")},
		{"a member of that name that is none", "", "", errors.Runtimef("boom").With("request", "x")},
		{"control characters", `GET x\x1b[31m`, "", errors.Runtimef("boom").With("request", map[string]any{"method": "GET", "uri": "x\x1b[31m"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Report{Outcome: execution.Outcome{Fault: c.fault}}
			if sent, got := r.exchange(); sent != c.sent || got != c.got {
				t.Errorf("got %q and %q, want %q and %q", sent, got, c.sent, c.got)
			}
		})
	}
}
