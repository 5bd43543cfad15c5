package tasks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
)

// TestPayloads: the payload of a message is decoded in the same way as an answer of HTTP.
func TestPayloads(t *testing.T) {
	for _, c := range []struct {
		contentType, payload string
		want                 any // a text that begins with ! is a part of the error
	}{
		{"", `{"a":1}`, map[string]any{"a": 1}},
		{"", "\ufeff[1]", []any{1}},
		{"", "\n", nil},
		{"", "{", "{"},
		{"", "\xff", "/w=="},
		{"application/json", "", nil},
		{"application/json; charset=iso-8859-1", "\"\xe9\"", "é"},
		{"application/json", "\"\xe9\"", "!is not UTF-8"},
		{"application/json", "{", "!says that it is JSON, and is not"},
		{"text/plain; charset=windows-1252", "\x80", "€"},
		{"text/plain; charset=utf-8", "\xff", "!cannot be decoded by its charset"},
		{"application/octet-stream", "x", "eA=="},
	} {
		m, err := readMessage(asyncapi.Target{Protocol: "nats"}, brokers.Message{ContentType: c.contentType, Payload: []byte(c.payload)})
		if wrong, is := c.want.(string); is && strings.HasPrefix(wrong, "!") {
			if err == nil || !strings.Contains(err.Error(), wrong[1:]) || !strings.HasPrefix(err.Error(), "a message of ") {
				t.Errorf("%s %q: %v, want the error %s", c.contentType, c.payload, err, wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", c.contentType, c.payload, err)
			continue
		}
		if diff := cmp.Diff(c.want, m["payload"]); diff != "" {
			t.Errorf("%s %q\n%s", c.contentType, c.payload, diff)
		}
	}
}
