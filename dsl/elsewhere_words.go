package dsl

func workflowWords() []otherWord {
	return []otherWord{
		{[]string{"on", "triggers", "trigger"}, "write `schedule: { on: ... }` for events, or `schedule: { cron: ... }`"},
		{[]string{"cron", "every"}, "write `schedule:` and indent it below"},
		{[]string{"vars", "variables", "env", "environment", "constants"}, "set values in the first task, and keep them by `export: { as: ... }` for `$context`"},
		{[]string{"permissions", "concurrency", "defaults", "runs-on", "pluginDefaults", "taskDefaults", "default_args", "ownerEmail", "schemaVersion", "keepActive", "workspaces", "runtime", "catchup", "max_active_runs", "restartable"}, "a workflow has no such setting: leave it out"},
		{[]string{"dag", "templates", "jobs", "stages", "flow", "workflow", "ops", "graph", "assets", "modules", "nodes", "main", "activities", "states"}, "write the tasks under `do:`, in their order"},
		{[]string{"timeout-minutes", "executionTimeout", "workflowExecutionTimeout", "runTimeout", "activeDeadlineSeconds", "TimeoutSeconds", "timeoutSeconds", "dagrun_timeout"}, "write `timeout: { after: { minutes: 5 } }`"},
		{[]string{"finally", "always"}, "write one task under `do:` with `try:` around the others and its `catch:`, and after it the tasks that run in any case"},
		{[]string{"catch", "onError", "onExit", "on_failure", "errorHandler", "onFailure"}, "write one task under `do:` with `try:` around the others, and its `catch:`"},
		{[]string{"retry", "retryPolicy", "retryStrategy"}, "a retry belongs to the `catch` of a `try`; policies with names stand under `use.retries`"},
		{[]string{"start", "StartAt", "entrypoint"}, "a workflow starts with the first task under `do`"},
		{[]string{"returns", "return", "result", "outputs", "outputParameters"}, "write `output: { as: ... }`"},
		{[]string{"inputs", "params", "parameters", "inputParameters"}, "write `input: { schema: { document: { type: object, properties: { name: { type: string } } } } }`"},
		{[]string{"schedule_interval", "scheduleInterval", "recurrence", "interval"}, "write `schedule: { cron: '0 0 * * *' }`, or `schedule: { every: { hours: 1 } }`"},
		{[]string{"id"}, "a workflow is named by `document: { dsl: 1.0.3, namespace: ..., name: ..., version: ... }`"},
		{[]string{"events", "signals"}, "an event is described where it is used: in `emit`, `listen` and `schedule.on`"},
		{[]string{"description", "comment"}, "write `summary` under `document`"},
		{[]string{"metadata", "annotations", "labels"}, "it belongs to `document`: `document: { ..., metadata: { team: a } }`"},
		{[]string{"apiVersion", "kind"}, "leave it out: `document.dsl` has the version of the language"},
	}
}

func retryWords() []otherWord {
	return []otherWord{
		{[]string{"maxAttempts", "count", "attempts", "max_attempts", "max", "maxRetries", "times", "retries", "MaxAttempts", "maximumAttempts", "maxTries", "retryCount", "retry_count", "backoffLimit", "max_retries"}, "write `limit: { attempt: { count: 3 } }`"},
		{[]string{"interval", "initialInterval", "IntervalSeconds", "intervalSeconds", "delaySeconds", "initialDelay", "retryDelay", "waitBetweenTries", "wait", "retryDelaySeconds", "retry_delay", "retry_delay_seconds", "retryInterval"}, "write `delay: { seconds: 5 }`"},
		{[]string{"multiplier", "backoffRate", "BackoffRate", "backoffCoefficient", "factor", "exponential"}, "write `backoff: { exponential: {} }`, which doubles the delay each time"},
		{[]string{"linear", "constant", "increment", "retryLogic", "strategy", "type"}, "write `backoff: { linear: {} }` or `backoff: { constant: {} }`"},
		{[]string{"maxInterval", "maximumInterval", "maxDelay", "MaxDelaySeconds", "max_delay"}, "there is no longest delay; `metadata: { swrun: { backoffList: [PT1S, PT5S, PT1M] } }` of the try lists the delays"},
		{[]string{"nonRetryableErrorTypes", "nonRetryable", "except", "unless"}, "write `exceptWhen: .status == 404`, or filter by `errors` of the catch"},
		{[]string{"use", "ref", "name", "policy"}, "write `retry: NAME` with a name of use.retries"},
		{[]string{"ErrorEquals", "errors", "on", "if"}, "write `errors:` of the catch, or `when:` here"},
		{[]string{"maxDuration", "timeout", "maxElapsedTime", "expiration", "expirationInterval", "ExpirationInterval"}, "write `limit: { duration: { minutes: 5 } }`"},
	}
}

func activityWords() []otherWord {
	return []otherWord{
		{[]string{"name", "activity", "activityType"}, "write `type: sendEmail`"},
		{[]string{"taskQueue", "task_queue", "taskList", "task_list"}, "write `queue: mail`"},
		{[]string{"startToCloseTimeout", "scheduleToCloseTimeout", "scheduleToStartTimeout", "heartbeatTimeout", "startToClose", "heartbeat", "timeout"}, "write `timeouts: { startToClose: PT5S }`"},
		{[]string{"args", "arguments", "parameters", "data", "params"}, "write `input: { ... }`"},
		{[]string{"retryPolicy", "maxAttempts", "retries", "attempts", "maxRetries"}, "write `retry: { maxAttempts: 3 }`"},
	}
}

func requestWords() []otherWord {
	return []otherWord{
		{[]string{"params", "parameters", "queryParameters", "qs", "queryParams", "search", "queries", "query_params"}, "write `query: { name: value }`"},
		{[]string{"auth", "authorization", "credentials", "bearer", "token"}, "it belongs to the endpoint: `endpoint: { uri: ..., authentication: { bearer: { token: ... } } }`"},
		{[]string{"data", "form", "content"}, "write `body:`"},
		{[]string{"contentType", "content-type", "accept"}, "write `headers: { content-type: ... }`"},
		{[]string{"path", "host", "baseUrl", "baseURL"}, "write the whole URL as `endpoint: https://host/path`"},
		{[]string{"retry", "retries"}, "it belongs to the `catch` of a `try` around this task: `try: [...]` and `catch: { retry: ... }`"},
		{[]string{"expectedStatus", "expected_status", "validateStatus", "successCodes", "status_code"}, "every status from 200 to 299 is a success, and any other is an error for the `catch` of a `try`"},
		{[]string{"insecure", "verify", "tls", "rejectUnauthorized", "ssl_verify", "proxy"}, "proxies and certificates are settings of the engine: leave it out"},
		{[]string{"http_request", "request", "options"}, "write `method: get` and `endpoint: https://...` directly below `with`"},
		{[]string{"followRedirects", "follow"}, "write `redirect: true`"},
		{[]string{"responseType", "response", "returnFullResponse"}, "write `output: response`, `output: content` or `output: raw`"},
	}
}

func scheduleWords() []otherWord {
	return []otherWord{
		{[]string{"timezone", "timeZone", "tz", "zone"}, "write `metadata: { swrun: { schedule: { timeZone: Europe/Paris } } }` under `document`, or `CRON_TZ=Europe/Paris` before the expression of `cron`"},
		{[]string{"interval", "rate", "recurrence", "frequency"}, "write `every: { minutes: 5 }`"},
		{[]string{"event", "events", "trigger"}, "write `on: { one: { with: { type: ... } } }`"},
		{[]string{"catchup", "backfill", "depends_on_past", "missed"}, "write `metadata: { swrun: { schedule: { missed: ... } } }` under `document` to say how runs are caught up"},
		{[]string{"at", "once", "runAt", "date"}, "a schedule repeats; `swrun start NAMESPACE/NAME --delay 10m` starts one run later, and `cron: '0 9 1 1 *'` one each year"},
		{[]string{"start", "startAt", "end", "until", "jitter"}, "a schedule has neither a beginning nor an end; `swrun schedule pause` stops it"},
	}
}

// oneAfterAnother explains the order of loops.
const oneAfterAnother = "a `for` takes one item after another; a `fork` runs its branches at the same time"

func documentWords() []otherWord {
	return []otherWord{
		{[]string{"labels", "annotations", "label"}, "write `tags: { team: a }`"},
		{[]string{"description", "comment", "doc"}, "write `summary:`"},
		{[]string{"id", "key"}, "write `name:`"},
		{[]string{"taskQueue", "task_queue", "queue", "workflowType"}, "only an activity has a queue: `with: { type: ..., queue: ... }`; leave it out here"},
		{[]string{"owner", "author", "ownerEmail"}, "write `metadata: { owner: ... }`"},
	}
}

func tryWords() []otherWord {
	return []otherWord{
		{[]string{"retry", "retries", "retryPolicy"}, "it belongs to the `catch` of this task: `catch: { retry: ... }`"},
		{[]string{"rescue", "except", "on_error", "onError", "handler"}, "write `catch: { do: [...] }`"},
		{[]string{"else"}, "what runs only after success stands at the end of the list of `try`"},
	}
}

func forkTaskWords() []otherWord {
	return []otherWord{
		{[]string{"compete"}, "it belongs into `fork`: `fork: { compete: true, branches: [...] }`"},
		{[]string{"join", "joinOn", "waitFor", "joinType"}, "a `fork` waits for all its branches; with `fork: { compete: true, ... }` it waits for the first one"},
	}
}

func forkWords() []otherWord {
	return []otherWord{
		{[]string{"forkTasks", "tasks", "steps", "lanes"}, "write `branches: [...]`"},
		{[]string{"join", "joinOn", "waitFor", "completionType", "mode", "wait"}, "a `fork` waits for all its branches; with `compete: true` it waits for the first one"},
		{[]string{"shared", "concurrency_limit", "maxConcurrency", "max_concurrency", "failFast", "fail_fast"}, "all branches run at the same time, and the first error ends them: leave it out"},
	}
}

func switchWords() []otherWord {
	return []otherWord{
		{[]string{"default", "defaultCase", "otherwise", "else"}, "the default is a case without `when`: `- otherwise: { then: end }`"},
		{[]string{"cases"}, "write the cases below `switch:`, each as `- red: { when: '.color == \"red\"', then: end }`"},
	}
}

func caseWords() []otherWord {
	return []otherWord{
		{[]string{"default", "otherwise", "else"}, "a case without `when` is the default: `- otherwise: { then: end }`"},
		{[]string{"value", "equals", "is"}, "write `when: .color == \"red\"`"},
		{choiceRules(), "write the comparison in jq: `when: .total > 100`"},
		{[]string{"do", "steps", "tasks", "actions", "run", "set", "call"}, "write `then: NAME`, with the name of a task of the list around the `switch`"},
	}
}

// choiceRules are the members of rules of AWS Step Functions.
func choiceRules() []string {
	all := []string{"Variable", "And", "Or", "Not", "IsPresent", "IsNull", "IsNumeric", "IsString", "IsBoolean", "BooleanEquals", "StringEquals", "StringMatches", "NumericEquals", "Condition"}
	for _, kind := range []string{"Numeric", "String", "Timestamp"} {
		for _, than := range []string{"GreaterThan", "LessThan"} {
			all = append(all, kind+than, kind+than+"Equals")
		}
	}
	return all
}

func catchWords() []otherWord {
	return []otherWord{
		{[]string{"maxAttempts", "attempts", "retryCount"}, "write `retry: { limit: { attempt: { count: 3 } } }`"},
		{[]string{"with", "filter", "type", "status", "ErrorEquals"}, "write `errors: { with: { type: ..., status: ... } }`"},
		{[]string{"finally", "always"}, "what runs in any case stands in the task after this one"},
		{[]string{"steps", "tasks", "actions", "handler"}, "write `do: [...]`"},
		{[]string{"goto", "next"}, "write `then: NAME`"},
	}
}

func activityRetryWords() []otherWord {
	return []otherWord{
		{[]string{"maximumAttempts", "MaxAttempts", "attempts", "count", "limit"}, "write `maxAttempts: 3`"},
		{[]string{"initialInterval", "backoffCoefficient", "maximumInterval", "delay"}, "write `backoff: { initial: PT1S, factor: 2, max: PT1M }`"},
		{[]string{"nonRetryableErrorTypes"}, "write `nonRetryable: [...]`"},
	}
}

func activityTimeoutWords() []otherWord {
	return []otherWord{
		{[]string{"ScheduleToCloseTimeout", "ScheduleToClose"}, "write `scheduleToClose: PT5S`"},
		{[]string{"StartToCloseTimeout", "StartToClose"}, "write `startToClose: PT5S`"},
		{[]string{"ScheduleToStartTimeout", "ScheduleToStart"}, "write `scheduleToStart: PT5S`"},
		{[]string{"HeartbeatTimeout", "Heartbeat"}, "write `heartbeat: PT5S`"},
	}
}

func runWorkflowWords() []otherWord {
	return []otherWord{
		{[]string{"with", "args", "arguments", "parameters", "data"}, "write `input: { ... }`"},
		{[]string{"ref", "type", "workflowId", "workflowType", "definition"}, "write `namespace: ...`, `name: ...` and `version: latest`"},
		{[]string{"id", "runId"}, "the engine names runs of other workflows: leave it out"},
	}
}

func runWords() []otherWord {
	return []otherWord{
		{[]string{"parentClosePolicy", "parentClose"}, "write `metadata: { swrun: { parentClose: abandon } }` beside `run`"},
		{[]string{"bash", "sh", "cmd", "exec", "commands"}, "write `shell: { command: ... }`"},
		{[]string{"image", "docker"}, "write `container: { image: alpine, command: ... }`"},
		{[]string{"type", "kind"}, "write `shell: { command: ... }`, `script:`, `container:` or `workflow:`"},
	}
}

func containerWords() []otherWord {
	return []otherWord{
		{[]string{"args", "cmd", "entrypoint", "commands"}, "write `command:` and `arguments:`"},
		{[]string{"env"}, "write `environment: { NAME: value }`"},
		{[]string{"imagePullPolicy", "pull_policy", "pull"}, "write `pullPolicy: always`"},
		{[]string{"container_name", "containerName"}, "write `name:`"},
		{[]string{"volumeMounts", "mounts", "binds"}, "write `volumes: { /srv/in: /in }`"},
		{[]string{"working_dir", "workingDir", "workdir", "cwd"}, "change the folder in the command: `cd /src && make`"},
		{[]string{"restart", "resources", "settings", "networks", "network_mode", "privileged", "user", "deploy", "healthcheck", "depends_on", "secrets"}, "a container has no such setting: leave it out"},
	}
}

func scriptWords() []otherWord {
	return []otherWord{
		{[]string{"inline", "content", "script", "body", "text"}, "write `code: ...`"},
		{[]string{"file", "path", "uri", "url", "resource"}, "write `source: { endpoint: https://... }`"},
	}
}

func shellWords() []otherWord {
	return []otherWord{
		{[]string{"cwd", "workdir", "working_dir", "workingDir", "working-directory", "chdir", "dir"}, "change the folder in the command: `cd src && make`"},
		{[]string{"timeout"}, "it belongs beside `run`: `timeout: { after: { seconds: 30 } }`"},
		{[]string{"script", "run", "commands"}, "write `command: ...`"},
	}
}

func forWords() []otherWord {
	return []otherWord{
		{[]string{"items", "list", "collection", "inputCollection", "values", "iterable", "range", "forEach"}, "write `in: .items`"},
		{[]string{"from", "to", "start", "end", "times", "count", "step"}, "write `in: '${ [range(1; 11)] }'` for the numbers from 1 to 10"},
		{[]string{"as", "value", "var", "item", "iterationParam", "loop_var", "itemName", "iterator"}, "write `each: item`"},
		{[]string{"index", "indexName", "counter", "index_var"}, "write `at: index`"},
		{[]string{"steps", "tasks", "actions"}, "write `do: [...]` beside `for`"},
		{[]string{"concurrency", "parallel", "maxConcurrency", "batchSize", "parallelism", "mode", "concurrency_limit", "max_concurrency", "limit"}, oneAfterAnother},
	}
}

func endpointWords() []otherWord {
	return []otherWord{
		{[]string{"headers", "body", "method", "query", "params", "output", "timeout"}, "it belongs beside `endpoint`: `with: { method: get, endpoint: ..., headers: { ... } }`"},
		{[]string{"path", "host", "port", "scheme"}, "write the whole URL as `uri: https://host/path`"},
		{[]string{"credentials", "bearer", "basic", "token", "authorization"}, "write `authentication: { bearer: { token: ... } }`"},
	}
}

func authenticationWords() []otherWord {
	return []otherWord{
		{[]string{"apiKey", "apikey", "api_key", "api-key", "key", "header", "headers"}, "a key stands among the headers of the call: `headers: { x-api-key: '${ $secrets.key }' }`"},
		{[]string{"type", "scheme", "kind", "token", "username", "password"}, "write `bearer: { token: ... }` or `basic: { username: ..., password: ... }`"},
		{[]string{"ref", "name", "secret"}, "write `use: NAME` with a name of use.authentications"},
	}
}

func filterWords() []otherWord {
	return []otherWord{
		{[]string{"filter", "where", "when", "condition", "if"}, "write it as the data of the event: `with: { type: ..., data: '${ .amount > 1 }' }`"},
		{[]string{"correlationKey", "correlation", "key"}, "write `correlate: { order: { from: .orderId, expect: .id } }`"},
	}
}

func consumptionWords() []otherWord {
	return []otherWord{
		{[]string{"event", "on", "message", "signal", "push", "pull_request", "workflow_dispatch", "webhook", "topic", "queue", "name"}, "write `one: { with: { type: ... } }`"},
		{[]string{"events", "messages", "signals"}, "write `any: [{ with: { type: ... } }]`, or `all:` with such a list"},
	}
}

func oauthWords() []otherWord {
	return []otherWord{
		{[]string{"clientId", "client_id", "clientID", "clientSecret", "client_secret"}, "write `client: { id: ..., secret: ... }`"},
		{[]string{"tokenUrl", "tokenURL", "token_url", "tokenUri", "token_uri", "tokenEndpoint", "token_endpoint", "accessTokenUrl"}, "write `endpoints: { token: /token }`, a path below `authority`"},
		{[]string{"scope"}, "write `scopes: [...]`"},
		{[]string{"audience", "resource"}, "write `audiences: [...]`"},
	}
}

func openapiWords() []otherWord {
	return []otherWord{
		{[]string{"spec", "specification", "openapi", "url", "uri", "endpoint", "source", "ref"}, "write `document: { endpoint: https://... }`"},
		{[]string{"body", "payload", "data", "requestBody"}, "write `parameters: { body: ... }`, or its members among the parameters"},
	}
}

func grpcWords() []otherWord {
	return []otherWord{
		{[]string{"host", "port", "address", "target", "endpoint"}, "it belongs to `service`: `service: { name: Greeter, host: localhost, port: 50051 }`"},
		{[]string{"request", "message", "payload", "data", "body", "input", "params"}, "write `arguments: { name: value }`"},
	}
}

func asyncapiWords() []otherWord {
	return []otherWord{{[]string{"payload", "data", "body", "headers"}, "write `message: { payload: ... }`, and `headers` beside `payload`"}}
}

func mcpWords() []otherWord {
	return []otherWord{
		{[]string{"tool", "toolName", "tool_name", "name", "arguments", "args", "input", "params", "toolArguments"}, "write `parameters: { name: find, arguments: { ... } }`"},
		{[]string{"prompt", "promptName"}, "write `method: prompts/get` and `parameters: { name: ... }`"},
		{[]string{"resource", "uri"}, "write `method: resources/read` and `parameters: { uri: ... }`"},
		{[]string{"server", "serverUrl", "server_url", "endpoint", "url", "http", "headers"}, "write `transport: { http: { endpoint: https://... } }`"},
		{[]string{"command", "stdio", "env", "environment"}, "write `transport: { stdio: { command: ... } }`"},
	}
}

func mcpTransportWords() []otherWord {
	return []otherWord{
		{[]string{"sse", "streamable-http", "streamableHttp", "streamable_http", "url", "uri", "endpoint", "headers"}, "write `http: { endpoint: https://... }`"},
		{[]string{"args", "arguments"}, "write `stdio: { command: ..., arguments: [...] }`"},
		{[]string{"type", "kind", "protocol"}, mcpTransports},
	}
}

// mcpTransports shows the two ways to reach a server of the Model Context Protocol.
const mcpTransports = "write `http: { endpoint: https://... }` or `stdio: { command: ... }`"

func mcpToolWords() []otherWord {
	return []otherWord{
		{[]string{"tool", "toolName", "tool_name"}, "write `name: ...` for the tool"},
		{[]string{"args", "input", "params", "parameters", "toolArguments"}, "write `arguments: { ... }`"},
	}
}
