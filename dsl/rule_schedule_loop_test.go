package dsl_test

import (
	"slices"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestScheduleLoops: a warning if each run starts the next, and no warning if something may prevent it.
func TestScheduleLoops(t *testing.T) {
	const a, b = `[{a: {emit: {event: {with: {type: a, n: 1}}}}}]`, `[{a: {emit: {event: {with: {type: a}}}}}, {b: {emit: {event: {with: {type: b}}}}}]`
	for _, c := range []struct {
		on, do string
		warns  bool
	}{
		{`{one: {with: {type: a}}}`, a, true},
		{`{one: {with: {type: a, n: 1}}}`, a, true},
		{`{any: []}`, a, true},
		{`{any: [{with: {type: x}}, {with: {source: /demo/loop/1.0.0}}]}`, a, true},
		{`{all: [{with: {type: a}}, {with: {type: b}}]}`, b, true},
		{`{all: [{with: {type: a}}, {with: {type: b}}]}`, a, false},
		{`{all: [{with: {type: a}}, {with: {type: a}}]}`, a, false}, // two runs start one run
		{`{one: {with: {type: a, n: 2}}}`, a, false},
		{`{one: {with: {type: a, m: 1}}}`, a, false},
		{`{one: {with: {type: a, data: '${ .again }'}}}`, a, false},
		{`{one: {with: {type: a}, correlate: {k: {from: .data.k}}}}`, a, false},
		{`{one: {with: {type: a, source: /shop}}}`, a, false},
		{`{one: {with: {type: 'a*'}}}`, `[{a: {emit: {event: {with: {type: 'a*'}}}}}]`, false},
		{`{one: {with: {type: a}}}`, `[{a: {if: .again, emit: {event: {with: {type: a}}}}}]`, false},
		{`{one: {with: {type: a}}}`, `[{s: {switch: [{x: {when: .again, then: a}}, {y: {then: end}}]}}, {a: {emit: {event: {with: {type: a}}}}}]`, false},
		{`{one: {with: {type: a}}}`, `[{f: {fork: {branches: ` + a + `}}}]`, true},
		{`{one: {with: {type: a}}}`, `[{f: {fork: {compete: true, branches: ` + a + `}}}]`, false},
		{`{one: {with: {type: a}}}`, `[{f: {for: {in: .all}, do: ` + a + `}}]`, false},
		{`{one: {with: {type: a}}}`, `[{a: {emit: {event: {with: {type: '${ .type }'}}}}}]`, false},
	} {
		found := mustCheck(t, "loop.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, name: loop, version: 1.0.0}\nschedule: {on: "+c.on+"}\ndo: "+c.do+"\n"))
		if warns := slices.ContainsFunc(found, func(d dsl.Diagnostic) bool { return d.Code == "SW705" }); warns != c.warns {
			t.Errorf("%s %s: %v", c.on, c.do, found)
		}
	}
}
