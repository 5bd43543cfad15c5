package errors_test

import (
	"testing"

	"github.com/swrun/swrun/errors"
)

// TestReached: the target can be read from an error with any members, because a workflow may raise such an error.
func TestReached(t *testing.T) {
	for _, c := range []struct {
		request, response any
		want, host        string
	}{
		{map[string]any{"method": "POST", "uri": "https://API.test:8443/pay"}, map[string]any{"statusCode": 503}, "POST https://API.test:8443/pay -> 503", "api.test:8443"},
		{map[string]any{"method": "POST", "uri": "::"}, nil, "POST ::", ""},
		{map[string]any{"method": 1, "uri": []any{}}, map[string]any{"statusCode": "x"}, "", ""},
		{map[string]any{"image": "alpine"}, nil, "alpine", "alpine"},
		{map[string]any{"method": "tools/call", "command": "server"}, nil, "tools/call server", ""},
		{"x", "y", "", ""}, {nil, map[string]any{"statusCode": 500}, "", ""}, {nil, nil, "", ""},
	} {
		e := errors.Communicationf("x").With("request", c.request).With("response", c.response)
		if got := e.Reached(); got.String() != c.want || got.Host != c.host {
			t.Errorf("%v: got %q at %q, want %q at %q", c.request, got, got.Host, c.want, c.host)
		}
	}
	if (*errors.Error)(nil).Reached() != (errors.Reached{}) {
		t.Error("no error has reached something")
	}
}
