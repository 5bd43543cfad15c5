package main

import (
	"strings"
	"testing"
	"time"
)

// TestOtherTexts: texts that are not data themselves are not changed either: schemas, cards of agents, and secrets in the environment.
func TestOtherTexts(t *testing.T) {
	t.Parallel()
	const (
		schema = "input: {schema: {resource: {endpoint: 'file://FILE'}}}\ndo: [{a: {set: {got: '${ .a }'}, output: {as: .got}}}]\n"
		card   = "do: [{a: {call: a2a, with: {agentCard: {endpoint: 'file://FILE'}, method: tasks/list}}}]\n"
	)
	constant, at := `{"properties":{"a":{"const":"é"}}}`, `{"url":"http://127.0.0.1:1/é","protocolVersion":"0.3.0"}`
	for _, c := range []struct{ document, text, want string }{
		{schema, constant, `"é"`}, {schema, marked(constant), `"é"`}, {schema, asLatin1(constant), "!Invalid document: the byte 0xe9 is not UTF-8"}, {schema, asUTF16(constant), "!Invalid document: is not UTF-8"},
		{card, at, "!communication: é: connection refused"}, {card, marked(at), "!communication: é: connection refused"}, {card, asUTF16(at), "!communication: é: connection refused"}, {card, asLatin1(at), "!Invalid document: is not UTF-8"},
	} {
		got := performed(t, strings.Replace(c.document, "FILE", mustWriteFile(t, "text.json", c.text), 1), "-i", `{"a":"é"}`)
		if s := (sample{want: c.want}); got != c.want && !s.failed(got) {
			t.Errorf("%q\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
	file := mustWriteFile(t, "secret.yaml", incomingDocument+"use: {secrets: [given]}\ndo: [{a: {set: {n: '${ $secrets.given | length }'}, output: {as: .n}}}]\n")
	for value, want := range map[string]string{"é": "1\n", "\xe9": "", `{"a":1}`: "1\n", `{"a":1,"a":2}`: "", `{"a":1e400}`: "1\n", "{é": "2\n"} {
		c := capture(map[string]string{"SWRUN_SECRET_given": value})
		c.now = time.Now
		if run([]string{"run", "--progress", "none", file}, c.streams); c.stdout.String() != want {
			t.Errorf("%q: got %q, want %q: %s", value, c.stdout.String(), want, c.stderr.String())
		}
	}
}
