package simulation

import "github.com/swrun/swrun/interpreter"

// happening is an event that is published for a run.
type happening struct {
	kind, order string
	n           int
	stray       bool // it is not for the run, which must not consume it
}

// listeningWorkloads are runs that listen. Their output is the consumed events. The events for a run contain its id.
func listeningWorkloads() []workload {
	done := interpreter.StatusCompleted
	one := func(n string) string {
		return "{l" + n + ": {listen: {to: {one: {with: {type: step}, correlate: {run: {from: .data.run, expect: $workflow.id}}}}}, " +
			"export: {as: '${ {got: (($context.got // []) + [.[0].n])} }'}}}"
	}
	const got = "{z: {set: {got: '${ $context.got }'}}}"
	return []workload{
		{name: "steps", pause: true, status: done, output: `{"got":[1,2,3]}`,
			body:      "do: [" + one("1") + ", " + one("2") + ", " + one("3") + ", " + got + "]",
			published: [][]happening{{{kind: "step", n: 1}}, {{kind: "step", n: 2}}, {{kind: "step", n: 3}}}},
		{name: "steps-between", pause: true, status: done, output: `{"got":[1,2]}`,
			body:      "do: [" + one("1") + ", {a: " + request + "a'}}}, {w: {wait: PT0.3S}}, " + one("2") + ", " + got + "]",
			published: [][]happening{{{kind: "step", n: 1}}, {{kind: "step", n: 2}}}},
		{name: "repeated", pause: true, status: done, output: `{"got":[1,2,3]}`,
			body:      "do: [{f: {for: {in: '${ [1,2,3] }'}, do: [" + one("") + "]}}, " + got + "]",
			published: [][]happening{{{kind: "step", n: 1}}, {{kind: "step", n: 2}}, {{kind: "step", n: 3}}}},
		{name: "window", pause: true, status: done, output: `[1,2,3,4]`,
			body:      "do: [{l: {listen: {to: {any: [{with: {type: measured, subject: '${ $workflow.id }'}}], until: 'length >= 4'}}, output: {as: '${ map(.n) | sort }'}}}]",
			published: [][]happening{{{kind: "measured", n: 1}, {kind: "measured", n: 2}, {kind: "measured", n: 3}, {kind: "measured", n: 4}}}},
		{name: "pair", pause: true, status: done, output: `["o2","o2"]`,
			body: "do: [{l: {listen: {to: {all: [{with: {type: paid, subject: '${ $workflow.id }'}, correlate: {order: {from: .data.order}}}, " +
				"{with: {type: packed, subject: '${ $workflow.id }'}, correlate: {order: {from: .data.order}}}]}}, output: {as: '${ map(.order) }'}}}]",
			published: [][]happening{
				{{kind: "paid", order: "o1", stray: true}, {kind: "paid", order: "o2"}},
				{{kind: "packed", order: "o1", stray: true}, {kind: "packed", order: "o2"}},
			}},
		{name: "sides", pause: true, status: done, output: `[[1],[2]]`,
			body: "do: [{f: {fork: {branches: [{a: {listen: {to: {one: {with: {type: left, subject: '${ $workflow.id }'}}}}, output: {as: '${ map(.n) }'}}}, " +
				"{b: {listen: {to: {one: {with: {type: right, subject: '${ $workflow.id }'}}}}, output: {as: '${ map(.n) }'}}}]}}}]",
			published: [][]happening{{{kind: "left", n: 1}, {kind: "right", n: 2}}}},
	}
}
