package simulation

import (
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// receiver is a call that only waits for data of others.
type receiver struct{ interpreter.Leaf }

func (r receiver) Enter(s *interpreter.Scope) interpreter.Next { return r.Leaf.Enter(s).Waiting() }

// receivers returns kinds whose calls with names that begin with "receive" only wait.
func receivers(kinds []interpreter.Kind) []interpreter.Kind {
	for n, kind := range kinds {
		if kind.Kind != dsl.KindCallHTTP {
			continue
		}
		compile := kind.Compile
		kinds[n].Compile = func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
			body := compile(b, t)
			if leaf, ok := body.(interpreter.Leaf); ok && strings.HasPrefix(t.Base().Name, "receive") {
				return receiver{leaf}
			}
			return body
		}
	}
	return kinds
}

// receivingWorkloads are runs that wait for data of others, beside effects that are performed.
func receivingWorkloads() []workload {
	done := interpreter.StatusCompleted
	return []workload{
		{name: "messages", cancel: true, pause: true, status: done, output: `{"at":"/do/2/receive2"}`,
			body: "do: [{receive1: " + request + "m'}}}, {b: " + request + "b'}}}, {receive2: " + request + "m'}}}]"},
		{name: "silence", pause: true, status: done, output: `{"at":"/do/0/t/catch/do/0/d"}`,
			body: "do: [{t: {try: [{receive: " + request + "hang'}, timeout: {after: PT4S}}}], catch: {do: [{d: " + request + "d'}}}]}}}]"},
		{name: "message-beside-a-call", status: done, output: `[{"at":"/do/0/f/fork/branches/0/receive"},{"at":"/do/0/f/fork/branches/1/b"}]`,
			body: "do: [{f: {fork: {branches: [{receive: " + request + "m'}}}, {b: " + request + "b'}}}]}}}]"},
		{name: "message-or-call", status: done, output: `{"at":"/do/0/f/fork/branches/1/b"}`,
			body: "do: [{f: {fork: {compete: true, branches: [{receive: " + request + "hang'}}}, {b: " + request + "b'}}}]}}}]"},
		{name: "message-once", pause: true, status: done, output: `{"at":"/do/1/t/try/0/receive"}`, or: `{"at":"unknown"}`,
			body: "do: [{w: {wait: PT1.2S}}, {t: {try: [{receive: {call: http, with: {method: get, endpoint: 'http://sim.test/once'}, metadata: {swrun: {delivery: at-most-once}}}}], " +
				"catch: {as: e, do: [{d: {set: {at: '${ $e.outcome }'}}}]}}}]"},
	}
}
