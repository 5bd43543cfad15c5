package simulation

import (
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
)

// operatedWorkloads are runs for operators: the fields from migrates on specify the operators' work.
func operatedWorkloads() []workload {
	done := interpreter.StatusCompleted
	common := func(name string) workload {
		for _, kind := range workloads() {
			if kind.name == name {
				kind.cancel, kind.imports = false, true
				return kind
			}
		}
		panic(name)
	}
	return []workload{
		common("waits"), common("timeout"), common("nested"), common("fork"), common("retry"), common("once"), common("loop"),
		{name: "moves-on", migrates: true, imports: true, pause: true, status: done, anyOutput: true,
			body:  "do: [{a: {wait: PT1.5S}}, {b: " + request + "b'}}}, {z: {set: {version: 1}}}]",
			other: "do: [{x: {set: {n: 1}}}, {a: {wait: PT2S}}, {b: " + request + "b'}}}, {w: {wait: PT0.5S}}, {z: {set: {version: 2}}}]",
			moved: interpreter.PointerMap{"/do/0/a": "/do/1/a", "/do/1/b": "/do/2/b", "/do/2/z": "/do/4/z"}},
		{name: "backoff", hurries: true, imports: true, status: done, output: `{"at":"/do/1/b"}`,
			body: "do: [{t: {try: [{a: " + request + "flaky'}}}], catch: {retry: {delay: PT1H, limit: {attempt: {count: 3}}}}}}, {b: " + request + "b'}}}]"},
		{name: "broken", forks: &client.ForkOptions{Version: "2.0.0"}, mended: `{"at":"/do/3/c"}`, pause: true, status: interpreter.StatusFaulted,
			body:  "do: [{a: " + request + "a'}}}, {w: {wait: PT0.4S}}, {b: {raise: {error: {type: https://sim.test/broken, status: 400}}}}, {c: " + request + "c'}}}]",
			other: "do: [{a: " + request + "a'}}}, {w: {wait: PT0.4S}}, {b: " + request + "b'}}}, {c: " + request + "c'}}}]"},
		{name: "branched", forks: &client.ForkOptions{From: "/do/1/b"}, mended: `{"at":"/do/2/c"}`, status: done, output: `{"at":"/do/2/c"}`,
			body: "do: [{a: " + request + "a'}}}, {b: " + request + "b'}}}, {c: " + request + "c'}}}]"},
		{name: "extended", extends: true, imports: true, pause: true,
			body: "timeout: {after: PT4S}\ndo: [{a: {wait: PT5S}}, {b: " + request + "b'}}}]"},
	}
}
