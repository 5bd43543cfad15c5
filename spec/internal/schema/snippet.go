package schema

import (
	"regexp"
	"slices"
)

// members is an object in the body of a snippet.
type members = map[string]any

// nothing is an object without members in the body of a snippet. An editor would write an empty object as no value, which is refused.
const nothing = "{}"

// within is a timeout in the body of a snippet: a task that uses another system has one, so that it does not wait forever.
func within(time string) members { return members{"after": time} }

func snippet(label, description string, body any) any {
	return members{"label": label, "description": description, "body": body}
}

// documentSnippets are the suggestions of an editor in an empty document.
func documentSnippets() []any {
	document := members{"dsl": "1.0.3", "namespace": "${1:default}", "name": "${2:name}", "version": "0.1.0"}
	return []any{
		snippet("workflow", "a workflow with one task", members{
			"document": document,
			"do":       []any{members{"${3:task}": members{"set": members{"${4:name}": "${5:value}"}}}},
		}),
		snippet("workflow with a timeout", "a workflow with a deadline for all of it", members{
			"document": document,
			"timeout":  members{"after": "${3:PT5M}"},
			"do":       []any{members{"${4:task}": members{"set": members{"${5:name}": "${6:value}"}}}},
		}),
	}
}

// taskSnippets are the suggestions of an editor in the place of a task.
func taskSnippets() []any { return slices.Concat(dataSnippets(), callSnippets(), flowSnippets()) }

// namedTaskSnippets are the suggestions of an editor in a list of tasks: each task under a name, which is typed first.
func namedTaskSnippets() (all []any) {
	for _, s := range taskSnippets() {
		of := s.(members)
		all = append(all, snippet(of["label"].(string), of["description"].(string), members{"${1:task}": later(of["body"])}))
	}
	return all
}

// later returns the body of a snippet in which each gap has the next number: an editor goes from gap to gap by their numbers.
func later(body any) any {
	switch body := body.(type) {
	case string:
		return gap.ReplaceAllStringFunc(body, func(of string) string { return "${" + string(of[2]+1) + ":" })
	case []any:
		all := make([]any, len(body))
		for i, one := range body {
			all[i] = later(one)
		}
		return all
	case members:
		all := members{}
		for name, member := range body {
			all[later(name).(string)] = later(member)
		}
		return all
	}
	return body
}

// gap is the beginning of a gap of a snippet. No snippet has more than eight.
var gap = regexp.MustCompile(`\$\{[1-8]:`)

// extensionSnippets are the suggestions of an editor in the list of extensions.
func extensionSnippets() []any {
	return []any{snippet("extension", "a task before each call", members{"${1:extension}": members{
		"extend": "${2:call}", "before": []any{members{"${3:task}": members{"set": members{"${4:name}": "${5:value}"}}}},
	}})}
}

// caseSnippets are the suggestions of an editor in the list of cases of a switch.
func caseSnippets() []any {
	return []any{
		snippet("case", "a case with a condition", members{"${1:case}": members{"when": "${2:.ok}", "then": "${3:end}"}}),
		snippet("otherwise", "the case that is taken if no other is", members{"${1:otherwise}": members{"then": "${2:continue}"}}),
	}
}

// timeoutSnippets are the suggestions of an editor for a timeout.
func timeoutSnippets() []any {
	return []any{snippet("timeout after a time", "how long it may take", members{"after": "${1:PT10S}"})}
}

// retrySnippets are the suggestions of an editor for a retry policy.
func retrySnippets() []any {
	limit := members{"attempt": members{"count": 5}}
	return []any{
		snippet("retry after a constant delay", "try again, each time after the same delay", members{"delay": "${1:PT1S}", "backoff": members{"constant": nothing}, "limit": limit}),
		snippet("retry after longer delays", "try again, each time after a longer delay", members{"delay": "${1:PT1S}", "backoff": members{"exponential": nothing}, "limit": limit}),
	}
}

// dataSnippets are the snippets of tasks with data and events.
func dataSnippets() []any {
	return []any{
		snippet("set", "replace the data", members{"set": members{"${1:name}": "${2:value}"}}),
		snippet("wait", "wait for a length of time", members{"wait": members{"seconds": 5}}),
		snippet("emit", "publish an event", members{"emit": members{"event": members{"with": members{
			"type": "${1:order.placed}", "source": "${2:https://example.com}", "data": members{"${3:id}": "${4:value}"},
		}}}}),
		snippet("listen", "wait for an event", members{
			"listen": members{"to": members{"one": members{"with": members{"type": "${1:order.approved}"}}}}, "timeout": within("${2:P1D}"),
		}),
	}
}

// callSnippets are the snippets of tasks that use another system.
func callSnippets() []any {
	return []any{
		snippet("call http", "send a request, with a timeout", members{
			"call": "http", "with": members{"method": "${1:get}", "endpoint": "${2:https://example.com}"},
			"timeout": within("${3:PT10S}"),
		}),
		snippet("call function", "call a function of use.functions or of a catalog", members{"call": "${1:name}", "with": members{"${2:argument}": "${3:value}"}}),
		snippet("call activity", "have a worker of your own do something", members{"call": "activity:1.0.0@default", "with": members{"type": "${1:sendEmail}"}, "timeout": within("${2:PT1H}")}),
		snippet("run shell", "run a command", members{"run": members{"shell": members{"command": "${1:echo hello}"}}, "timeout": within("${2:PT1M}")}),
		snippet("run script", "run a script", members{"run": members{"script": members{"language": "${1:js}", "code": "${2:console.log(1)}"}}, "timeout": within("${3:PT1M}")}),
		snippet("run container", "run a container", members{"run": members{"container": members{"image": "${1:alpine}", "command": "${2:echo hello}"}}, "timeout": within("${3:PT10M}")}),
		snippet("run workflow", "run another workflow", members{"run": members{"workflow": members{"namespace": "${1:default}", "name": "${2:name}", "version": "${3:latest}"}}, "timeout": within("${4:PT1H}")}),
	}
}

// flowSnippets are the snippets of tasks that contain other tasks, or end.
func flowSnippets() []any {
	return []any{
		snippet("do", "a list of tasks as one task", members{"do": []any{members{"${1:task}": members{"set": members{"${2:name}": "${3:value}"}}}}}),
		snippet("switch", "choose one of several cases", members{"switch": []any{
			members{"${1:case}": members{"when": "${2:.ok}", "then": "${3:end}"}},
			members{"${4:otherwise}": members{"then": "${5:continue}"}},
		}}),
		snippet("for", "do something with each item", members{
			"for": members{"each": "${1:item}", "in": "${2:.items}"},
			"do":  []any{members{"${3:task}": members{"set": members{"${4:name}": "${5:value}"}}}},
		}),
		snippet("fork", "run branches at the same time", members{"fork": members{"branches": []any{
			members{"${1:first}": members{"set": members{"${2:name}": "${3:value}"}}},
			members{"${4:second}": members{"set": members{"${5:name}": "${6:value}"}}},
		}}}),
		snippet("try", "catch a timeout", members{
			"try": []any{members{"${1:task}": members{
				"call": "http", "with": members{"method": "${2:get}", "endpoint": "${3:https://example.com}"}, "timeout": within("${4:PT10S}"),
			}}},
			"catch": members{
				"errors": members{"with": members{"type": "https://serverlessworkflow.io/spec/1.0.0/errors/timeout"}},
				"do":     []any{members{"${5:fallback}": members{"set": members{"${6:timedOut}": true}}}},
			},
		}),
		snippet("try with retries", "try again after an error, each time after a longer delay", members{
			"try": []any{members{"${1:task}": members{
				"call": "http", "with": members{"method": "${2:get}", "endpoint": "${3:https://example.com}"}, "timeout": within("${4:PT10S}"),
			}}},
			"catch": members{"retry": members{
				"delay": "${5:PT1S}", "backoff": members{"exponential": nothing},
				"limit": members{"attempt": members{"count": 5}},
			}},
		}),
		snippet("raise", "raise an error", members{"raise": members{"error": members{"type": "${1:https://example.com/errors/full}", "status": 409, "title": "${2:Full}"}}}),
	}
}
