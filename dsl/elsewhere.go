package dsl

import (
	"fmt"
	"slices"

	"github.com/swrun/swrun/internal/suggest"
)

// otherWord is a property of other languages, with its replacement here.
type otherWord struct {
	names []string
	help  string
}

// elsewhere returns where the author of an unknown property of another language finds its meaning here, or "". The allowed properties identify the object.
func elsewhere(name string, allowed []string) string {
	if len(allowed) == 2 && allowed[0] == "schema" && suggest.Nearest(name, allowed) == "" {
		if slices.Contains([]string{"type", "properties", "required", "items", "additionalProperties", "$schema", "$ref", "definitions", "$defs"}, name) {
			return "a schema stands below `schema.document`: `schema: { document: { type: ..., properties: ... } }`" // one help for all its properties
		}
		return transformElsewhere(name, allowed[1])
	}
	return wordIn(wordsFor(allowed), name)
}

// wordIn returns the replacement of a word of another language among words, or "".
func wordIn(words []otherWord, name string) string {
	for _, word := range words {
		if slices.Contains(word.names, name) {
			return word.help
		}
	}
	return ""
}

// transformElsewhere returns the replacement of an unknown property of `input`, `output` or `export`, whose transformation is below `from` or `as`.
func transformElsewhere(name, transformation string) string {
	switch {
	case slices.Contains([]string{"from", "value", "filter", "expr", "select"}, name),
		name == "set" && transformation == "as", name == "to" && transformation == "from":
		return fmt.Sprintf("write `%s: .name`", transformation)
	case slices.Contains([]string{"to", "export", "toContext", "save"}, name):
		return "write `export: { as: ... }` beside `output`, and read it from `$context`"
	case slices.Contains([]string{"default", "defaults"}, name):
		return fmt.Sprintf("put the default into the expression: `%s: '{ color: (.color // \"red\") }'`", transformation)
	}
	return fmt.Sprintf("write `%s: { %s: ... }`", transformation, name)
}

// wordsFor returns the words of other languages for an object with the allowed properties.
func wordsFor(allowed []string) []otherWord {
	for _, object := range otherWords() {
		if !slices.ContainsFunc(object.has, func(name string) bool { return !slices.Contains(allowed, name) }) && (object.of == 0 || object.of == len(allowed)) {
			return object.words
		}
	}
	return nil
}

// objectWords are the words for the objects that may have some properties.
type objectWords struct {
	has   []string
	of    int // number of properties of the object; 0 means any number
	words []otherWord
}

func otherWords() []objectWords {
	return []objectWords{
		{[]string{"document", "evaluate"}, 0, workflowWords()},
		{[]string{"dsl", "namespace"}, 0, documentWords()},
		{[]string{"export", "then", "catch"}, 0, slices.Concat(tryWords(), taskWords())},
		{[]string{"export", "then", "fork"}, 0, slices.Concat(forkTaskWords(), taskWords())},
		{[]string{"export", "then", "switch"}, 0, slices.Concat(switchWords(), taskWords())},
		{[]string{"export", "then"}, 0, taskWords()},
		{[]string{"exceptWhen", "retry"}, 0, catchWords()},
		{[]string{"exceptWhen", "backoff"}, 0, retryWords()},
		{[]string{"attempt", "duration"}, 2, []otherWord{{[]string{"count", "attempts", "max", "maxAttempts", "times"}, "write `attempt: { count: 3 }`"}}},
		{[]string{"redirect", "method"}, 0, requestWords()},
		{[]string{"every", "cron"}, 0, scheduleWords()},
		{[]string{"when", "then"}, 2, caseWords()},
		{[]string{"queue", "timeouts", "type"}, 0, activityWords()},
		{[]string{"maxAttempts", "nonRetryable"}, 0, activityRetryWords()},
		{[]string{"startToClose", "heartbeat"}, 0, activityTimeoutWords()},
		{[]string{"namespace", "version", "input"}, 0, runWorkflowWords()},
		{[]string{"shell", "await"}, 0, runWords()},
		{[]string{"image", "volumes"}, 0, containerWords()},
		{[]string{"code", "language"}, 0, scriptWords()},
		{[]string{"command", "stdin"}, 0, shellWords()},
		{[]string{"each", "in"}, 0, forWords()},
		{[]string{"branches", "compete"}, 0, forkWords()},
		{[]string{"uri", "authentication"}, 0, endpointWords()},
		{[]string{"basic", "bearer"}, 0, authenticationWords()},
		{[]string{"authority", "grant"}, 0, oauthWords()},
		{[]string{"operationId", "parameters"}, 0, openapiWords()},
		{[]string{"proto", "service"}, 0, grpcWords()},
		{[]string{"channel", "message"}, 0, asyncapiWords()},
		{[]string{"protocolVersion", "transport"}, 0, mcpWords()},
		{[]string{"http", "stdio", "options"}, 0, mcpTransportWords()},
		{[]string{"all", "any", "one"}, 0, consumptionWords()},
		{[]string{"with", "correlate"}, 0, filterWords()},
		{[]string{"to", "read"}, 0, []otherWord{{[]string{"event", "events", "on", "for", "message", "signal", "channel"}, "write `to: { one: { with: { type: ... } } }`"}}},
		{[]string{"status", "title", "instance"}, 0, []otherWord{{[]string{"code", "statusCode"}, "write `status: 400`"}}},
		{[]string{"event"}, 1, []otherWord{{[]string{"topic", "channel", "destination", "subject", "queue", "to"}, "the engine publishes all events to one place: leave it out, and tell them apart by `type`"}}},
		{[]string{"after"}, 1, []otherWord{{[]string{"then", "onTimeout", "do", "goto", "catch", "raise"}, "a timeout raises an error: write a task with `try: [...]` around this one, and `catch: { do: [...] }` beside `try`"}}},
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
		"body": "content", "full": "response", "json": "content", "status": "response", "statusCode": "response", "headers": "response",
	}[word]
	if slices.Contains(values, meant) {
		return meant
	}
	return ""
}
