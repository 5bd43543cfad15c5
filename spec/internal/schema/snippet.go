package schema

// members is an object in the body of a snippet.
type members = map[string]any

func snippet(label, description string, body any) any {
	return members{"label": label, "description": description, "body": body}
}

// documentSnippets are what an editor offers in an empty document.
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

// taskSnippets are what an editor offers where a task is to be written.
func taskSnippets() []any {
	timeout := "https://serverlessworkflow.io/spec/1.0.0/errors/timeout"
	return []any{
		snippet("set", "replace the data", members{"set": members{"${1:name}": "${2:value}"}}),
		snippet("call http", "send a request, with a timeout", members{
			"call": "http", "with": members{"method": "${1:get}", "endpoint": "${2:https://example.com}"},
			"timeout": members{"after": "${3:PT10S}"},
		}),
		snippet("try", "catch a timeout", members{
			"try": []any{members{"${1:task}": members{"wait": "${2:PT10S}", "timeout": members{"after": "${3:PT1S}"}}}},
			"catch": members{
				"errors": members{"with": members{"type": timeout}},
				"do":     []any{members{"${4:fallback}": members{"set": members{"${5:timedOut}": true}}}},
			},
		}),
		snippet("try with retries", "try again after an error, each time after a longer delay", members{
			"try": []any{members{"${1:task}": members{
				"call": "http", "with": members{"method": "${2:get}", "endpoint": "${3:https://example.com}"},
			}}},
			"catch": members{"retry": members{
				"delay": "${4:PT1S}", "backoff": members{"exponential": members{}},
				"limit": members{"attempt": members{"count": 5}},
			}},
		}),
		snippet("switch", "choose one of several cases", members{"switch": []any{
			members{"${1:case}": members{"when": "${2:.ok}", "then": "${3:end}"}},
			members{"${4:otherwise}": members{"then": "${5:continue}"}},
		}}),
		snippet("for", "do something with each item", members{
			"for": members{"each": "${1:item}", "in": "${2:.items}"},
			"do":  []any{members{"${3:task}": members{"set": members{"${4:name}": "${5:value}"}}}},
		}),
	}
}
