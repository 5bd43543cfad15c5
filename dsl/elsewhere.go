package dsl

import (
	"fmt"
	"slices"

	"github.com/swrun/swrun/internal/suggest"
)

// otherWord is a property of other languages, with what to write here in its place.
type otherWord struct {
	names []string
	help  string
}

// elsewhere returns where the author of an unknown property finds what it means in other languages, or "". What is allowed says
// which object the property stands in.
func elsewhere(name string, allowed []string) string {
	if len(allowed) == 2 && allowed[0] == "schema" && suggest.Nearest(name, allowed) == "" {
		if slices.Contains([]string{"type", "properties", "required", "items", "additionalProperties", "$schema", "$ref", "definitions", "$defs"}, name) {
			return fmt.Sprintf("a schema stands below `schema.document`: `schema: { document: { %s: ... } }`", name)
		}
		return fmt.Sprintf("write `%s: { %s: ... }`", allowed[1], name)
	}
	for _, word := range wordsFor(allowed) {
		if slices.Contains(word.names, name) {
			return word.help
		}
	}
	return ""
}

// wordsFor returns the words of other languages for an object with the allowed properties.
func wordsFor(allowed []string) []otherWord {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(allowed, n) })
	}
	switch {
	case has("document", "evaluate"):
		return workflowWords()
	case has("export", "then"):
		return taskWords()
	case has("exceptWhen", "backoff"):
		return retryWords()
	case has("attempt", "duration") && len(allowed) == 2:
		return []otherWord{{[]string{"count", "attempts", "max", "maxAttempts", "times"}, "write `attempt: { count: 3 }`"}}
	case has("redirect", "method"):
		return requestWords()
	case has("every", "cron"):
		return scheduleWords()
	case has("when", "then") && len(allowed) == 2:
		return []otherWord{{[]string{"default", "otherwise", "else"}, "a case without `when` is the default: `- otherwise: { then: end }`"}, {[]string{"value", "equals", "is"}, "write `when: .color == \"red\"`"}}
	case has("queue", "timeouts", "type"):
		return activityWords()
	case has("maxAttempts", "nonRetryable"):
		return []otherWord{{[]string{"maximumAttempts", "MaxAttempts", "attempts", "count", "limit"}, "write `maxAttempts: 3`"}, {[]string{"initialInterval", "backoffCoefficient", "maximumInterval", "delay"}, "write `backoff: { initial: PT1S, factor: 2, max: PT1M }`"}, {[]string{"nonRetryableErrorTypes"}, "write `nonRetryable: [...]`"}}
	case has("namespace", "version", "input"):
		return []otherWord{{[]string{"with", "args", "arguments", "parameters", "data"}, "write `input: { ... }`"}, {[]string{"id", "workflowId", "runId"}, "the engine names runs of other workflows: leave it out"}}
	case has("shell", "await"):
		return []otherWord{{[]string{"parentClosePolicy", "parentClose"}, "write `metadata: { swrun: { parentClose: abandon } }` beside `run`"}, {[]string{"bash", "sh", "cmd", "exec", "commands"}, "write `shell: { command: ... }`"}}
	case has("image", "volumes"):
		return []otherWord{{[]string{"args", "cmd", "entrypoint"}, "write `command:` and `arguments:`"}, {[]string{"env"}, "write `environment: { NAME: value }`"}}
	}
	return nil
}

func workflowWords() []otherWord {
	return []otherWord{
		{[]string{"on", "triggers", "trigger"}, "write `schedule: { on: ... }` for events, or `schedule: { cron: ... }`"},
		{[]string{"cron", "every"}, "write `schedule:` and indent it below"},
		{[]string{"vars", "variables", "env", "environment", "constants"}, "set values in the first task, and keep them by `export: { as: ... }` for `$context`"},
		{[]string{"permissions", "concurrency", "defaults", "runs-on"}, "a workflow has no such setting: leave it out"},
		{[]string{"dag", "templates", "jobs", "stages", "flow", "workflow"}, "write the tasks under `do:`, in their order"},
		{[]string{"timeout-minutes", "executionTimeout", "workflowExecutionTimeout", "runTimeout", "activeDeadlineSeconds", "TimeoutSeconds", "timeoutSeconds"}, "write `timeout: { after: { minutes: 5 } }`"},
		{[]string{"catch", "onError", "onExit", "on_failure", "errorHandler", "onFailure"}, "write one task under `do:` with `try:` around the others, and its `catch:`"},
		{[]string{"retry", "retryPolicy", "retryStrategy"}, "a retry belongs to the `catch` of a `try`; policies with names stand under `use.retries`"},
		{[]string{"start", "StartAt", "entrypoint"}, "a workflow starts with the first task under `do`"},
		{[]string{"returns", "return", "result"}, "write `output: { as: ... }`"},
		{[]string{"events", "signals"}, "an event is described where it is used: in `emit`, `listen` and `schedule.on`"},
		{[]string{"description", "comment"}, "write `summary` under `document`"},
	}
}

func taskWords() []otherWord {
	const catch = "it belongs to the `catch` of a `try` around this task: `try: [...]` and `catch: { retry: ... }`"
	return []otherWord{
		{[]string{"retry", "retries", "retryPolicy", "retryStrategy", "Retry", "maxAttempts", "max_attempts", "retryOnFail", "maxTries", "retryRef"}, catch},
		{[]string{"catch", "Catch", "onErrors", "onError", "on_error", "rescue", "except", "finally", "onFailure"}, "write a task with `try: [...]` around this one, and `catch: { do: [...] }` beside `try`"},
		{[]string{"continue-on-error", "continueOnError", "continueOnFail", "ignoreErrors", "ignore_errors", "allowFailure"}, "write a task with `try: [...]` around this one, and an empty `catch: {}`"},
		{[]string{"authentication", "auth", "credentials"}, "it belongs to the endpoint: `with: { endpoint: { uri: ..., authentication: ... } }`"},
		{[]string{"needs", "depends", "dependsOn", "depends_on", "dependencies", "runAfter", "after"}, "tasks run in the order of their list; `fork` runs its branches at the same time"},
		{[]string{"env", "environment"}, "it belongs to what is run: `run: { shell: { command: ..., environment: { NAME: value } } }`"},
		{[]string{"timeout-minutes", "timeoutMinutes", "timeoutSeconds", "TimeoutSeconds", "timeout_seconds", "activeDeadlineSeconds", "executionTimeout", "deadline"}, "write `timeout: { after: { minutes: 5 } }`"},
		{[]string{"startToCloseTimeout", "scheduleToCloseTimeout", "scheduleToStartTimeout", "heartbeatTimeout"}, "it belongs to the arguments of `call: activity:1.0.0@default`: `with: { type: ..., timeouts: { startToClose: ... } }`"},
		{[]string{"description", "comment", "Comment", "title", "notes", "notesInFlow", "label", "labels"}, "write it as a comment after `#`, or under `metadata:`"},
		{[]string{"name", "id"}, "the name of a task is the key that it stands under"},
		{[]string{"type", "Type", "kind"}, "the keyword says what a task does: call, do, emit, for, fork, listen, raise, run, set, switch, try or wait"},
		{[]string{"withItems", "withParam", "with_items", "strategy", "matrix", "splitInBatches", "Iterator", "ItemProcessor"}, "write a task with `for: { each: item, in: .items }` and `do: [...]`"},
		{[]string{"End"}, "write `then: end`"},
		{[]string{"ResultPath", "ResultSelector", "OutputPath", "actionDataFilter", "results", "result", "register", "save_as", "returns"}, "write `output: { as: ... }` for what the task puts out, or `export: { as: ... }` for `$context`"},
		{[]string{"InputPath", "Parameters", "args", "arguments", "parameters"}, "write `with:` for the arguments of a call, or `input: { from: ... }` for the input"},
		{[]string{"stateDataFilter", "dataFilter"}, "write `input: { from: ... }` for what the task reads, `output: { as: ... }` for what it puts out, and `export: { as: ... }` for `$context`"},
		{[]string{"compensatedBy", "compensate", "compensation", "usedForCompensation"}, "write a task with `try: [...]` around what may have to be undone, and what undoes it in `catch: { do: [...] }`"},
		{[]string{"unless"}, "write `if: .a | not`"},
		{[]string{"until", "repeat", "loop"}, "write a task with `for:`, `while:` and `do:`, or a `switch` whose `then` leads back"},
		{[]string{"delay", "waitFor", "sleep"}, "write a task of its own: `- pause: { wait: { seconds: 5 } }`"},
		{[]string{"image", "container"}, "write `run: { container: { image: ..., command: ... } }`"},
		{[]string{"shell", "script"}, "write `run: { shell: { command: ... } }` or `run: { script: ... }`"},
		{[]string{"runs-on", "runner", "agent", "pool"}, "any worker that may start processes runs it; for a certain program, write `run: { container: { image: ... } }`"},
		{[]string{"working-directory", "cwd", "workingDir", "chdir"}, "change the folder in the command: `cd src && make`"},
		{[]string{"taskQueue", "task_queue", "queue"}, "it belongs to the arguments of `call: activity:1.0.0@default`: `with: { type: ..., queue: ... }`"},
	}
}

func retryWords() []otherWord {
	return []otherWord{
		{[]string{"maxAttempts", "count", "attempts", "max_attempts", "max", "maxRetries", "times", "retries", "MaxAttempts", "maximumAttempts", "maxTries"}, "write `limit: { attempt: { count: 3 } }`"},
		{[]string{"interval", "initialInterval", "IntervalSeconds", "intervalSeconds", "delaySeconds", "initialDelay", "retryDelay", "waitBetweenTries", "wait"}, "write `delay: { seconds: 5 }`"},
		{[]string{"multiplier", "backoffRate", "BackoffRate", "backoffCoefficient", "factor", "exponential"}, "write `backoff: { exponential: {} }`, which doubles the delay each time"},
		{[]string{"linear", "constant", "increment"}, "write `backoff: { linear: {} }` or `backoff: { constant: {} }`"},
		{[]string{"maxInterval", "maximumInterval", "maxDelay", "MaxDelaySeconds", "max_delay"}, "there is no longest delay; `metadata: { swrun: { backoffList: [PT1S, PT5S, PT1M] } }` of the try lists the delays"},
		{[]string{"nonRetryableErrorTypes", "nonRetryable", "except", "unless"}, "write `exceptWhen: .status == 404`, or filter by `errors` of the catch"},
		{[]string{"ErrorEquals", "errors", "on", "if"}, "write `errors:` of the catch, or `when:` here"},
		{[]string{"maxDuration", "timeout", "maxElapsedTime", "expiration"}, "write `limit: { duration: { minutes: 5 } }`"},
	}
}

func activityWords() []otherWord {
	return []otherWord{
		{[]string{"name", "activity", "activityType"}, "write `type: sendEmail`"},
		{[]string{"taskQueue", "task_queue"}, "write `queue: mail`"},
		{[]string{"startToCloseTimeout", "scheduleToCloseTimeout", "scheduleToStartTimeout", "heartbeatTimeout", "startToClose", "heartbeat"}, "write `timeouts: { startToClose: PT5S }`"},
		{[]string{"args", "arguments", "parameters", "data", "params"}, "write `input: { ... }`"},
		{[]string{"retryPolicy", "maxAttempts"}, "write `retry: { maxAttempts: 3 }`"},
	}
}

func requestWords() []otherWord {
	return []otherWord{
		{[]string{"params", "parameters", "queryParameters", "qs", "queryParams", "search"}, "write `query: { name: value }`"},
		{[]string{"auth", "authorization", "credentials", "bearer", "token"}, "it belongs to the endpoint: `endpoint: { uri: ..., authentication: { bearer: { token: ... } } }`"},
		{[]string{"data", "form", "content"}, "write `body:`"},
		{[]string{"contentType", "content-type", "accept"}, "write `headers: { content-type: ... }`"},
		{[]string{"path", "host", "baseUrl", "baseURL"}, "write the whole URL as `endpoint: https://host/path`"},
		{[]string{"followRedirects", "follow"}, "write `redirect: true`"},
		{[]string{"responseType", "response", "returnFullResponse"}, "write `output: response`, `output: content` or `output: raw`"},
	}
}

func scheduleWords() []otherWord {
	return []otherWord{
		{[]string{"timezone", "timeZone", "tz", "zone"}, "write `metadata: { swrun: { schedule: { timeZone: Europe/Paris } } }` under `document`, or `CRON_TZ=Europe/Paris` before the expression of `cron`"},
		{[]string{"interval", "rate"}, "write `every: { minutes: 5 }`"},
		{[]string{"event", "events", "trigger"}, "write `on: { one: { with: { type: ... } } }`"},
		{[]string{"start", "startAt", "end", "until", "jitter"}, "a schedule has neither a beginning nor an end; `swrun schedule pause` stops it"},
	}
}

// otherSpelling returns the word of the language for a method that libraries of MCP and A2A spell in another way, or "".
func otherSpelling(word string, values []string) string {
	meant := map[string]string{
		"callTool": "tools/call", "call_tool": "tools/call", "tools.call": "tools/call", "listTools": "tools/list", "list_tools": "tools/list",
		"getPrompt": "prompts/get", "get_prompt": "prompts/get", "listPrompts": "prompts/list", "list_prompts": "prompts/list",
		"readResource": "resources/read", "read_resource": "resources/read", "listResources": "resources/list", "list_resources": "resources/list",
		"sendMessage": "message/send", "SendMessage": "message/send", "send_message": "message/send", "sendMessageStream": "message/stream",
		"SendStreamingMessage": "message/stream", "streamMessage": "message/stream", "getTask": "tasks/get", "GetTask": "tasks/get",
		"listTasks": "tasks/list", "ListTasks": "tasks/list", "cancelTask": "tasks/cancel", "CancelTask": "tasks/cancel",
		"tasks/send": "message/send", "message.send": "message/send", "resubscribeTask": "tasks/resubscribe",
		"body": "content", "full": "response", "json": "content",
	}[word]
	if slices.Contains(values, meant) {
		return meant
	}
	return ""
}

// keywordElsewhere returns what to write for a keyword of another language, or "".
func keywordElsewhere(name string) string {
	if slices.Contains(CallProtocols(), name) {
		return fmt.Sprintf("write `call: %s`, and its arguments under `with`", name)
	}
	for _, word := range []otherWord{
		{[]string{"shell", "script", "container", "workflow"}, fmt.Sprintf("write `run: { %s: ... }`", name)},
		{[]string{"bash", "sh", "cmd", "command", "commands", "exec"}, "write `run: { shell: { command: ... } }`"},
		{[]string{"uses", "action", "functionRef", "function", "template", "templateRef", "Resource", "resource"}, "write `call:` with http, grpc, openapi, asyncapi, mcp, a2a or the name of a function, and `with:` for its arguments"},
		{[]string{"activity", "executeActivity", "task"}, "write `call: activity:1.0.0@default` and `with: { type: ... }`"},
		{[]string{"steps", "tasks", "sequence", "block", "actions"}, "write `do:` with a list of tasks"},
		{[]string{"branches", "Branches", "parallel"}, "write `fork: { branches: [...] }`"},
		{[]string{"Choices", "dataConditions", "eventConditions", "choice", "match"}, "write `switch:` with a list of cases"},
		{[]string{"forEach", "foreach", "withItems", "withParam", "map", "iterate", "while", "loop", "repeat"}, "write `for: { each: item, in: .items }` and `do: [...]`"},
		{[]string{"event", "eventRef", "onEvents", "waitForEvent", "waitForSignal", "receive", "signal", "eventCondition"}, "write `listen: { to: { one: { with: { type: ... } } } }`"},
		{[]string{"publish", "send", "trigger", "produceEvents"}, "write `emit: { event: { with: { type: ..., source: ... } } }`"},
		{[]string{"fail", "error", "throw", "Fail", "abort"}, "write `raise: { error: { type: ..., status: ... } }`"},
		{[]string{"data", "inject", "assign", "vars", "variables", "Result", "output_values"}, "write `set: { name: value }`"},
		{[]string{"subflow", "subFlowRef", "executeChildWorkflow", "childWorkflow", "invoke_workflow"}, "write `run: { workflow: { namespace: ..., name: ..., version: ... } }`"},
		{[]string{"request", "url", "fetch", "rest", "get", "post"}, "write `call: http` and `with: { method: get, endpoint: https://... }`"},
		{[]string{"timer", "pause", "Seconds", "duration"}, "write `wait: { seconds: 5 }`"},
		{[]string{"suspend", "approval", "await", "waitUntil"}, "write `wait: { seconds: 5 }` for a time, or `listen: { to: { one: { with: { type: ... } } } }` for an event"},
		{[]string{"log", "print", "echo", "message"}, "no task writes to the log; `set` keeps a value, and `run: shell` can print"},
		{[]string{"return", "end", "stop", "Succeed"}, "write `then: end` on the task before, or an `output` of the workflow"},
	} {
		if slices.Contains(word.names, name) {
			return word.help
		}
	}
	return ""
}
