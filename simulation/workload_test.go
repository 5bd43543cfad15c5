package simulation

import (
	"slices"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// workload is a kind of run, with its end, which does not depend on the faults.
type workload struct {
	name   string
	body   string
	status interpreter.Status
	output string // as JSON; empty without an output
	or     string // another valid output
	reason string // the reason for its closing; empty for any
	cancel bool   // it may be cancelled
	pause  bool   // it may be suspended for a while
	moves  bool   // its deadline may be moved

	other     string                 // the body of its version 2.0.0, if there is one
	migrates  bool                   // to that version
	moved     interpreter.PointerMap // places of its tasks in that version
	hurries   bool                   // it is made to retry immediately
	imports   bool                   // a copy of it is imported
	extends   bool                   // its deadline may be moved: it may end either way
	published [][]happening          // events for it; each group is published after the events of the groups before are consumed
	forks     *client.ForkOptions    // how it is forked; nil for no fork
	mended    string                 // the output of the fork
	anyOutput bool                   // another audit looks at its output
}

// run is one run of a workload.
type run struct {
	kind      workload
	id        string
	instance  store.Instance
	cancelled bool
	asked     bool // an operator requested it, and does not know the result
}

func flaky() error { return errors.Communicationf("not yet") }

// texts returns the documents, one of each version.
func (w workload) texts() []string {
	text := func(version, body string) string {
		return "document: {dsl: 1.0.3, namespace: sim, name: " + w.name + ", version: " + version + "}\n" + body
	}
	if w.other == "" {
		return []string{text("1.0.0", w.body)}
	}
	return []string{text("1.0.0", w.body), text("2.0.0", w.other)}
}

const request = "{call: http, with: {method: get, endpoint: 'http://sim.test/"

// documents are all workflows, including workflows that only other runs start. A run that never ends by its own tasks must not keep a slot forever,
// because the run that ends it may need the slot.
func documents() []workload {
	all := append(workloads(), outsideWorkloads()...)
	for _, kind := range operatedWorkloads() {
		if !slices.ContainsFunc(all, func(w workload) bool { return w.name == kind.name }) {
			all = append(all, kind)
		}
	}
	return append(all, workload{name: "slow",
		body: "do: [{t: {try: [{a: " + request + "hang'}, timeout: {after: PT3S}}}], catch: {do: [{w: {wait: P1D}}]}}}]"})
}

// workloads returns the workloads of a kind of world.
func (k kind) workloads() []workload {
	switch k {
	case outside:
		return outsideWorkloads()
	case operated:
		return operatedWorkloads()
	case listening:
		return listeningWorkloads()
	case receiving:
		return receivingWorkloads()
	}
	return workloads()
}

func workloads() []workload {
	done := interpreter.StatusCompleted
	return []workload{
		{name: "calls", cancel: true, pause: true, status: done, output: `{"at":"/do/2/c"}`,
			body: "do: [{a: " + request + "a'}}}, {b: " + request + "b'}}}, {c: " + request + "c'}}}]"},
		{name: "waits", pause: true, status: done, output: `{"at":"/do/2/c"}`,
			body: "do: [{a: {wait: PT0.7S}}, {b: {wait: PT2.5S}}, {c: " + request + "c'}}}]"},
		{name: "timeout", status: done, output: `{"at":"/do/0/t/catch/do/0/d"}`,
			body: "do: [{t: {try: [{a: " + request + "hang'}, timeout: {after: PT0.6S}}}], catch: {do: [{d: " + request + "d'}}}]}}}]"},
		{name: "deadline", status: interpreter.StatusFaulted,
			body: "timeout: {after: PT2S}\ndo: [{a: " + request + "a'}}}, {b: " + request + "hang'}}}]"},
		{name: "poison", status: interpreter.StatusFaulted, reason: "timed_out",
			body: "timeout: {after: PT30S}\ndo: [{w: {wait: PT0.1S}}, {t: {try: [{a: " + request + "poison'}, timeout: {after: PT20S}}}], catch: {do: [{d: " + request + "poison'}}}]}}}]"},
		{name: "nested", status: done, output: `{"at":"/do/0/t/catch/do/0/d"}`,
			body: "do: [{t: {try: [{o: {do: [{i: " + request + "hang'}, timeout: {after: PT5S}}}], timeout: {after: PT1S}}}], catch: {do: [{d: " + request + "d'}}}]}}}]"},
		{name: "race", status: done, output: `{"at":"/do/1/z"}`,
			body: "do: [{t: {try: [{a: " + request + "a'}, timeout: {after: PT0.1S}}}], catch: {}}}, {z: " + request + "z'}}}]"},
		{name: "fork", pause: true, status: done, output: `[{"at":"/do/0/f/fork/branches/0/a"},{"at":"/do/0/f/fork/branches/1/b"}]`,
			body: "do: [{f: {fork: {branches: [{a: " + request + "a'}}}, {b: " + request + "b'}}}]}}}]"},
		{name: "retry", pause: true, status: done, output: `{"at":"/do/0/t/try/0/a"}`,
			body: "do: [{t: {try: [{a: " + request + "flaky'}}}], catch: {retry: {delay: PT0.3S, limit: {attempt: {count: 5}}}}}}]"},
		{name: "once", pause: true, status: done, output: `{"at":"/do/1/t/try/0/once"}`, or: `{"at":"unknown"}`,
			body: "do: [{w: {wait: PT1.2S}}, {t: {try: [{once: {call: http, with: {method: get, endpoint: 'http://sim.test/once'}, metadata: {swrun: {delivery: at-most-once}}}}], " +
				"catch: {as: e, do: [{d: {set: {at: '${ $e.outcome }'}}}]}}}]"},
		{name: "loop", cancel: true, status: done, output: `{"at":"/do/0/l/do/0/a"}`,
			body: "do: [{l: {for: {in: '${ [1,2,3] }'}, do: [{a: " + request + "a'}}}]}}]"},
		{name: "parent", status: done, output: `{"at":"/do/2/c"}`,
			body: "do: [{r: {run: {workflow: {namespace: sim, name: calls, version: 1.0.0}}}}]"},
		{name: "rivals", status: done, output: `{"at":"/do/0/f/fork/branches/1/b"}`,
			body: "do: [{f: {fork: {compete: true, branches: [{r: {run: {workflow: {namespace: sim, name: slow, version: 1.0.0}}}}, {b: " + request + "b'}}}]}}}]"},
		{name: "impatient", status: done, output: `{"at":"/do/0/t/catch/do/0/d"}`,
			body: "do: [{t: {try: [{r: {run: {workflow: {namespace: sim, name: slow, version: 1.0.0}}, timeout: {after: PT1.5S}}}], catch: {do: [{d: " + request + "d'}}}]}}}]"},
	}
}
