package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// catchOfTry is the help for a misplaced retry.
const catchOfTry = "it belongs to the `catch` of a `try` around this task: `try: [...]` and `catch: { retry: ... }`"

func taskWords() []otherWord {
	return []otherWord{
		{[]string{"retry", "retries", "retryPolicy", "retryStrategy", "Retry", "maxAttempts", "max_attempts", "retryOnFail", "maxTries", "retryRef", "retryCount", "retryDelay", "retryDelaySeconds", "retry_delay", "retry_delay_seconds", "max_retries", "maxRetries"}, catchOfTry},
		{[]string{"catch", "Catch", "onErrors", "onError", "on_error", "rescue", "except", "onFailure", "on_failure_callback", "on_failure"}, "write a task with `try: [...]` around this one, and `catch: { do: [...] }` beside `try`"},
		{[]string{"continue-on-error", "continueOnError", "continueOnFail", "ignoreErrors", "ignore_errors", "allowFailure", "allow_failure", "optional"}, "write a task with `try: [...]` around this one, and an empty `catch: {}`"},
		{[]string{"authentication", "auth", "credentials"}, "it belongs to the endpoint: `with: { endpoint: { uri: ..., authentication: ... } }`"},
		{[]string{"needs", "depends", "dependsOn", "depends_on", "dependencies", "runAfter", "after", "stage", "upstream", "trigger_rule"}, "tasks run in the order of their list; `fork` runs its branches at the same time"},
		{[]string{"env", "environment"}, "it belongs to what is run: `run: { shell: { command: ..., environment: { NAME: value } } }`"},
		{[]string{"timeout-minutes", "timeoutMinutes", "timeoutSeconds", "TimeoutSeconds", "timeout_seconds", "activeDeadlineSeconds", "executionTimeout", "deadline", "execution_timeout", "timeoutInSeconds"}, "write `timeout: { after: { minutes: 5 } }`"},
		{[]string{"startToCloseTimeout", "scheduleToCloseTimeout", "scheduleToStartTimeout", "heartbeatTimeout"}, "it belongs to the arguments of `call: activity:1.0.0@default`: `with: { type: ..., timeouts: { startToClose: ... } }`"},
		{[]string{"description", "comment", "Comment", "title", "notes", "notesInFlow", "label", "labels", "tags", "annotations", "doc"}, "write it as a comment after `#`, or under `metadata:`"},
		{[]string{"name", "id", "taskReferenceName", "task_id", "stepName"}, "the name of a task is the key that it stands under"},
		{[]string{"type", "Type", "kind"}, "the keyword says what a task does: call, do, emit, for, fork, listen, raise, run, set, switch, try or wait"},
		{[]string{"withItems", "withParam", "with_items", "strategy", "matrix", "splitInBatches", "Iterator", "ItemProcessor"}, "write a task with `for: { each: item, in: .items }` and `do: [...]`"},
		{[]string{"End", "end"}, "write `then: end`"},
		{[]string{"ResultPath", "ResultSelector", "OutputPath", "actionDataFilter", "results", "result", "register", "save_as", "saveAs", "storeAs", "resultVariable", "returns", "outputParameters"}, "write `output: { as: ... }` for what the task puts out, or `export: { as: ... }` for `$context`"},
		{[]string{"InputPath", "Parameters", "args", "arguments", "parameters", "params", "inputParameters", "input_transforms", "request", "inputMapping"}, "write `with:` for the arguments of a call, or `input: { from: ... }` for the input"},
		{[]string{"stateDataFilter", "dataFilter"}, "write `input: { from: ... }` for what the task reads, `output: { as: ... }` for what it puts out, and `export: { as: ... }` for `$context`"},
		{[]string{"compensatedBy", "compensate", "compensation", "usedForCompensation"}, "write a task with `try: [...]` around what may have to be undone, and what undoes it in `catch: { do: [...] }`"},
		{[]string{"unless"}, "write `if: .a | not`"},
		{[]string{"runIf", "run_if", "rules", "only", "skipIf"}, "write `if: .branch == \"main\"`"},
		{[]string{"else", "otherwise", "elif"}, "a task has no `else`: choose by `switch:`, or give a second task `if: .x | not`"},
		{[]string{"finally", "always", "ensure"}, "what runs in any case stands in the task after a `try` with its `catch`"},
		{[]string{"disabled", "enabled", "skip"}, "put `#` before the lines of a task that must not run, or write `if: .enabled`"},
		{[]string{"url", "uri"}, "write `with: { method: get, endpoint: https://... }`"},
		{[]string{"vars", "variables", "locals"}, "set values in a task before, and keep them by `export: { as: ... }` for `$context`"},
		{[]string{"maxConcurrency", "max_concurrency", "concurrency", "maxParallel", "parallelism", "batchSize"}, oneAfterAnother},
		{[]string{"stop_after_if", "stopIf", "exitIf"}, "write a task after it that ends the workflow: `- enough: { switch: [{ done: { when: .x, then: end } }] }`"},
		{[]string{"produceEvents", "emits"}, "write a task of its own: `- tell: { emit: { event: { with: { type: ..., source: ... } } } }`"},
		{[]string{"before_script", "after_script"}, "write it into the command: `command: make && make test`"},
		{[]string{"extends"}, "give the text an anchor, `&base`, and repeat it by `<<: *base`"},
		{[]string{"become", "tty", "cache", "cache_key_fn", "artifacts", "services", "wires", "changed_when", "owner", "position", "workspaces"}, "a task has no such setting: leave it out"},
		{[]string{"until", "repeat", "loop", "while"}, "write a task with `for:`, `while:` and `do:`, or a `switch` whose `then` leads back"},
		{[]string{"delay", "waitFor", "sleep"}, "write a task of its own: `- pause: { wait: { seconds: 5 } }`"},
		{[]string{"image", "container"}, "write `run: { container: { image: ..., command: ... } }`"},
		{[]string{"shell", "script"}, "write `run: { shell: { command: ... } }` or `run: { script: ... }`"},
		{[]string{"runs-on", "runner", "agent", "pool"}, "any worker that may start processes runs it; for a certain program, write `run: { container: { image: ... } }`"},
		{[]string{"working-directory", "cwd", "workingDir", "chdir"}, "change the folder in the command: `cd src && make`"},
		{[]string{"taskQueue", "task_queue", "queue"}, "it belongs to the arguments of `call: activity:1.0.0@default`: `with: { type: ..., queue: ... }`"},
	}
}

// keywordElsewhere returns the replacement of a keyword of another language, or "".
func keywordElsewhere(name string) string {
	if slices.Contains(CallProtocols(), name) {
		return fmt.Sprintf("write `call: %s`, and its arguments under `with`", name)
	}
	for _, word := range []otherWord{
		{[]string{"shell", "script", "container", "workflow"}, fmt.Sprintf("write `run: { %s: ... }`", name)},
		{[]string{"bash", "sh", "cmd", "command", "commands", "exec", "bash_command"}, "write `run: { shell: { command: ... } }`"},
		{[]string{"uses", "action", "functionRef", "function", "template", "templateRef", "taskRef", "Resource", "resource"}, "write `call:` with http, grpc, openapi, asyncapi, mcp, a2a or the name of a function, and `with:` for its arguments"},
		{[]string{"continueAsNew", "continue_as_new", "continueAs"}, "write `call: continue-as-new:1.0.0@default` and `with: { input: ... }`"},
		{[]string{"activity", "executeActivity", "task", "serviceTask", "callActivity", "scheduleActivity", "step", "step.run", "worker", "job"}, "write `call: activity:1.0.0@default` and `with: { type: ... }`"},
		{[]string{"execute"}, "write `do:` with a list of tasks, or `fork: { branches: [...] }` for tasks at the same time"},
		{[]string{"steps", "tasks", "sequence", "sequentially", "block", "actions", "scope"}, "write `do:` with a list of tasks"},
		{[]string{"race"}, "write `fork: { compete: true, branches: [...] }`"},
		{[]string{"branches", "Branches", "parallel", "concurrently", "parallelGateway"}, "write `fork: { branches: [...] }`"},
		{[]string{"Choices", "dataConditions", "eventConditions", "choice", "match", "exclusiveGateway", "inclusiveGateway", "gateway", "decision", "condition", "conditions"}, "write `switch:` with a list of cases"},
		{[]string{"forEach", "foreach", "withItems", "withParam", "map", "iterate", "while", "loop", "repeat"}, "write `for: { each: item, in: .items }` and `do: [...]`"},
		{[]string{"event", "eventRef", "onEvents", "waitForEvent", "waitForSignal", "receive", "signal", "eventCondition", "awakeable", "waitForExternalEvent", "receiveTask", "callback"}, "write `listen: { to: { one: { with: { type: ... } } } }`"},
		{[]string{"publish", "send", "trigger", "produceEvents"}, "write `emit: { event: { with: { type: ..., source: ... } } }`"},
		{[]string{"fail", "error", "throw", "Fail", "abort"}, "write `raise: { error: { type: ..., status: ... } }`"},
		{[]string{"data", "inject", "assign", "vars", "variables", "Result", "output_values", "set_fact", "setVariable"}, "write `set: { name: value }`"},
		{[]string{"subflow", "subFlowRef", "executeChildWorkflow", "childWorkflow", "invoke_workflow"}, "write `run: { workflow: { namespace: ..., name: ..., version: ... } }`"},
		{[]string{"request", "url", "fetch", "rest", "get", "post", "http.get", "http.post"}, "write `call: http` and `with: { method: get, endpoint: https://... }`"},
		{[]string{"timer", "pause", "Seconds", "duration", "createTimer"}, "write `wait: { seconds: 5 }`"},
		{[]string{"suspend", "approval", "await", "waitUntil", "userTask", "humanTask", "manual"}, "write `wait: { seconds: 5 }` for a time, or `listen: { to: { one: { with: { type: ... } } } }` for an event"},
		{[]string{"log", "print", "echo", "message"}, "no task writes to the log; `set` keeps a value, and `run: shell` can print"},
		{[]string{"sleepUntil", "sleep_until", "wait_until"}, "compute the time that is left: `wait: '${ \"PT\\((.at | fromdate) - now | floor)S\" }'`"},
		{[]string{"goto", "next", "transition", "jump"}, "write `then: NAME` on the task before"},
		{[]string{"type"}, "the keyword says what a task does, for example `call: http`, `run: { shell: ... }` or `set: { ... }`"},
		{[]string{"return", "end", "stop", "Succeed", "terminate", "exit", "finish"}, "write `then: end` on the task before, or an `output` of the workflow"},
	} {
		if slices.Contains(word.names, name) {
			return word.help
		}
	}
	return ""
}

// stateElsewhere returns the form to write in the place of a property that names the kind of a task in another language: by its name, or by the type of a state.
func stateElsewhere(key, value *yaml.Node) string {
	if key.Value != "Type" || !source.IsText(value) {
		return keywordElsewhere(key.Value)
	}
	switch value.Value {
	case "Succeed", "Fail":
		return keywordElsewhere(value.Value)
	case "Choice", "Parallel", "Map":
		return keywordElsewhere(strings.ToLower(value.Value))
	}
	return ""
}
