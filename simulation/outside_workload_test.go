package simulation

import "github.com/swrun/swrun/interpreter"

// activityCall returns a call of an activity; more contains the members of its `with` beside the type.
func activityCall(kind, more string) string {
	return "{call: 'activity:1.0.0@default', with: {type: " + kind + ", " + more + "}}"
}

const (
	// patient has an unlimited number of attempts.
	patient = "timeouts: {startToClose: PT2S}, retry: {maxAttempts: 0, backoff: [PT0.2S, PT0.5S]}"
	growing = "timeouts: {startToClose: PT2S}, retry: {maxAttempts: 0, backoff: {initial: PT0.1S, factor: 2, max: PT1S}}"
)

// caughtAs tries a task, and outputs a part of its error.
func caughtAs(task, part string) string {
	return "do: [{t: {try: [{a: " + task + "}], catch: {as: e, do: [{d: {set: {kind: '${ $e." + part + " }'}}}]}}}]"
}

// outsideWorkloads are runs with activities, and runs for cases that the other workloads do not show.
func outsideWorkloads() []workload {
	done := interpreter.StatusCompleted
	timesOut := func(name, kind, with string) workload {
		return workload{name: name, pause: true, status: done, output: `{"kind":"` + kind + `"}`, body: caughtAs(activityCall("hangs", with), "timeoutKind")}
	}
	return []workload{
		{name: "sends", cancel: true, pause: true, status: done, output: `{"at":"/do/1/b"}`,
			body: "do: [{a: " + activityCall("plain", patient) + "}, {b: " + activityCall("plain", patient+", queue: mail") + "}]"},
		{name: "beats", pause: true, status: done, output: `{"at":"/do/0/a"}`,
			body: "do: [{a: " + activityCall("beats", "timeouts: {heartbeat: PT0.8S}, retry: {maxAttempts: 0, backoff: [PT0.1S]}") + "}]"},
		{name: "flaky", pause: true, status: done, output: `{"at":"/do/0/a"}`, body: "do: [{a: " + activityCall("flaky", growing) + "}]"},
		{name: "refuses", status: done, output: "", body: caughtAs(activityCall("refuses", patient), "nonRetryable")},
		timesOut("hangs", interpreter.DeadlineStartToClose, "timeouts: {startToClose: PT0.5S}, retry: {maxAttempts: 2, backoff: [PT0.3S]}"),
		timesOut("unserved", interpreter.DeadlineScheduleToStart, "queue: nobody, timeouts: {scheduleToStart: PT0.7S}, retry: {maxAttempts: 2, backoff: [PT0.4S]}"),
		timesOut("closes", interpreter.DeadlineScheduleToClose, "timeouts: {startToClose: PT0.7S, scheduleToClose: PT1.9S}, retry: {maxAttempts: 0, backoff: [PT0.2S]}"),
		timesOut("silent", interpreter.DeadlineHeartbeat, "timeouts: {heartbeat: PT0.5S}, retry: {maxAttempts: 2, backoff: [PT0S]}"),
		{name: "tight", status: done, body: caughtAs(activityCall("plain", "timeouts: {startToClose: PT0.12S}, retry: {maxAttempts: 2, backoff: [PT0.01S]}"), "timeoutKind")},
		{name: "branches", cancel: true, pause: true, status: done, output: `[{"at":"/do/0/f/fork/branches/0/a"},{"at":"/do/0/f/fork/branches/1/b"}]`,
			body: "do: [{f: {fork: {branches: [{a: " + activityCall("plain", patient) + "}, {b: " + activityCall("plain", patient+", queue: mail") + "}]}}}]"},
		{name: "competes", status: done, output: `{"at":"/do/0/f/fork/branches/1/b"}`, or: `{"at":"/do/0/f/fork/branches/0/a"}`,
			body: "do: [{f: {fork: {compete: true, branches: [{a: " + activityCall("hangs", "timeouts: {startToClose: PT30S}") + "}, {b: " + request + "b'}}}]}}}]"},
		{name: "bounded", status: done, output: `{"at":"/do/0/t/catch/do/0/d"}`,
			body: "do: [{t: {try: [{a: {call: 'activity:1.0.0@default', with: {type: hangs, timeouts: {startToClose: PT20S}}, timeout: {after: PT1S}}}], catch: {do: [{d: " + request + "d'}}}]}}}]"},
		{name: "moved", moves: true, status: done, output: `{"at":"/do/0/t/catch/do/0/d"}`,
			body: "do: [{t: {try: [{a: {call: http, with: {method: get, endpoint: 'http://sim.test/hang'}, timeout: {after: PT2S}}}], catch: {do: [{d: " + request + "d'}}}]}}}]"},
		{name: "again", cancel: true, pause: true, status: done, output: `{"at":"/do/0/a"}`,
			body: "do: [{a: " + activityCall("plain", patient) + "}, {b: {if: '${ $runtime.metadata.runNumber < 3 }', call: 'continue-as-new:1.0.0@default'}}]"},
		{name: "gpu", pause: true, status: done, output: `{"at":"/do/1/b"}`,
			body: "do: [{a: {call: http, with: {method: get, endpoint: 'http://sim.test/a'}, metadata: {swrun: {queue: gpu}}}}, {b: " + request + "b'}}}]"},
	}
}
