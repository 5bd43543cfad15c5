package tasks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/interpreter"
)

// TestErrorsSayWhatWasCalled: the error of a call contains its target, without user, query and arguments, even if the request comes from storage.
func TestErrorsSayWhatWasCalled(t *testing.T) {
	for _, c := range []struct {
		request any
		want    string
	}{
		{&grpcRequest{Target: grpcTarget{Address: "api.test:443"}, Service: "pay.Pay", Method: "Charge"}, "pay.Pay/Charge grpcs://api.test:443"},
		{&grpcRequest{Target: grpcTarget{Address: "api.test:80", Plaintext: true}, Method: "Charge"}, "Charge grpc://api.test:80"},
		{&mcpRequest{Method: "tools/call", Endpoint: "https://me:geheim@mcp.test/x?token=geheim#geheim"}, "tools/call https://mcp.test/x"},
		{&mcpRequest{Method: "tools/list", Command: []string{"server", "--token=geheim"}}, "tools/list server"},
		{&a2aRequest{Method: "message/send", Agent: "https://agent.test/a?key=geheim"}, "message/send https://agent.test/a"},
		{&a2aRequest{Method: "message/send", Card: "https://agent.test/card"}, "message/send https://agent.test/card"},
		{&httpRequest{Method: "POST", URI: "https://me:geheim@shop.test/pay?key=geheim", Headers: map[string]string{"Method": "geheim", "Image": "geheim"}}, "POST https://shop.test/pay"},
		{&openAPIRequest{Request: &httpRequest{Method: "GET", URI: "https://pets.test/pets?key=geheim"}}, "GET https://pets.test/pets"},
		{&asyncAPIRequest{Target: &asyncapi.Target{Protocol: "nats", Addresses: []string{"b.test:4222"}, Channel: "orders"}, Message: &outboundMessage{}}, "publish nats://b.test:4222/orders"},
		{&asyncAPIRequest{Target: &asyncapi.Target{Protocol: "kafka", Secure: true, Channel: "orders"}}, "subscribe kafka:///orders"},
		{&containerRequest{Image: "docker.io/library/alpine:3"}, "docker.io/library/alpine:3"},
		{&containerRequest{}, ""},
		{map[string]any{}, ""},
		{[]any{1}, ""},
	} {
		body, err := json.Marshal(c.request)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []interpreter.Request{{Body: body}, {Prepared: c.request}} {
			failed := withRequest(errors.Communicationf("refused"), r)
			if got := errors.AsError(failed).Reached().String(); got != c.want || strings.Contains(fmt.Sprint(errors.AsError(failed).Value()), "geheim") {
				t.Errorf("%s: got %q, want %q: %v", body, got, c.want, errors.AsError(failed).Value())
			}
		}
	}
	need := withRequest(&interpreter.NeedError{Need: "network:a", Err: errors.Communicationf("refused")}, interpreter.Request{Prepared: &containerRequest{Image: "a"}})
	if n, ok := need.(*interpreter.NeedError); !ok || n.Need != "network:a" || n.Err.Reached().Host != "a" {
		t.Errorf("a need became %v", need)
	}
	late := withRequest(&interpreter.TimeoutError{Kind: interpreter.DeadlineCall, Err: errors.Timeoutf("late")}, interpreter.Request{Prepared: &mcpRequest{Method: "tools/list", Endpoint: "https://mcp.test"}})
	if e, ok := late.(*interpreter.TimeoutError); !ok || e.Kind != interpreter.DeadlineCall || e.Err.Reached().Host != "mcp.test" {
		t.Errorf("a timeout of a call became %v", late)
	}
	own := errors.Communicationf("refused").With(errors.MemberRequest, map[string]any{"method": "GET", "uri": "http://a"})
	if got := withRequest(own, interpreter.Request{Prepared: &containerRequest{Image: "b"}}).(*errors.Error).Reached().String(); got != "GET http://a" {
		t.Errorf("what the performer has said became %q", got)
	}
}
