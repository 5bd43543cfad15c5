package schema

// protocol is a kind of call.
type protocol struct {
	definition string // its name in the schema
	name       string // the value of `call`
	with       shape  // its arguments
	bare       bool   // it needs no arguments
}

// protocols returns the kinds of calls except the call of a function, which is the kind of any other call.
func protocols() []protocol {
	return []protocol{
		{"callAsyncAPI", "asyncapi", callAsyncAPI(), false},
		{"callGRPC", "grpc", callGRPC(), false},
		{"callHTTP", "http", callHTTP(), false},
		{"callOpenAPI", "openapi", callOpenAPI(), false},
		{"callA2A", "a2a", callA2A(), false},
		{"callMCP", "mcp", callMCP(), false},
		{"callActivity", "activity:1.0.0@default", callActivity(), false},
		{"callContinueAsNew", "continue-as-new:1.0.0@default", callContinueAsNew(), true},
	}
}

// callNames returns the value of `call` for each protocol.
func callNames() []string {
	var names []string
	for _, p := range protocols() {
		names = append(names, p.name)
	}
	return names
}

func callTasks() properties {
	all := properties{}
	for _, p := range protocols() {
		required := needs("call", "with")
		if p.bare {
			required = needs("call")
		}
		all[p.definition] = task(required, properties{
			"call": constant(p.name).about("The called protocol: " + p.name + "."),
			"with": p.with.about("The arguments of the call."),
		})
	}
	all["callFunction"] = task(needs("call"), properties{
		"call": shape{"type": "string", "pattern": `\S`, "not": shape{"enum": callNames()}}.
			about("A function of `use.functions`, or of a catalog: `name:1.0.0@catalog`."),
		"with": anyObject().about("The function's arguments."),
	})
	return all
}

func callContinueAsNew() shape {
	return object(nil, properties{
		"input":   anything().about("The input of the next run; the task's input unless set."),
		"version": pattern(`^latest$|` + semver).about("The version of the workflow of the next run, or latest (default the version of this run)."),
	})
}

// outputFormat returns the choice of the output of an HTTP request.
func outputFormat() shape {
	return enum("raw", "content", "response").about("The output: the content (the default), its bytes in base64, or the whole response.")
}

func followRedirects() shape { return boolean().about("Whether redirects are followed.") }

func callOpenAPI() shape {
	return object(needs("document", "operationId"), properties{
		"document":       use("resource").about("The OpenAPI document."),
		"operationId":    text().about("The operation to call."),
		"parameters":     anyObject().about("The operation's parameters, by name."),
		"authentication": use("policyOrName"),
		"output":         outputFormat(),
		"redirect":       followRedirects(),
	})
}

func callA2A() shape {
	return object(needs("method"), properties{
		"agentCard": use("resource").about("The card of the agent, with its address and the required credential."),
		"server":    use("endpoint").about("The address of the agent, if there is no `agentCard`. A URL without a path is a host, whose card may name the path."),
		"method": enum("message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel", "tasks/resubscribe",
			"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list",
			"tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard").about("The method to call."),
		"parameters": anyOf(shape{"type": "object", "minProperties": 1}, text()).about("The method's parameters."),
	})
}

// callHTTP accepts `uri` for `endpoint` too, as published documents use it.
func callHTTP() shape {
	pairs := anyOf(anyObject(), use("expression"))
	s := object(needs("method"), properties{
		"method":   likely("get", "post", "put", "patch", "delete", "head", "options").about("The method, for example get."),
		"endpoint": use("endpoint").about("Where the request is sent."),
		"uri":      use("endpoint").about("An older name of `endpoint`."),
		"headers":  pairs.about("Header fields."),
		"query":    pairs.about("Query parameters."),
		"body":     anything().about("The body: text as it is, everything else as JSON."),
		"output":   outputFormat(),
		"redirect": followRedirects(),
	})
	return s.exactlyOne("endpoint", "uri")
}

func callGRPC() shape {
	port := integer()
	port["minimum"], port["maximum"] = 0, 65535
	return object(needs("proto", "service", "method"), properties{
		"proto": use("resource").about("The proto document."),
		"service": object(needs("name", "host"), properties{
			"name":           text().about("The full name of the service, with its package."),
			"host":           pattern(`^[a-zA-Z0-9]([a-zA-Z0-9-.]{0,61}[a-zA-Z0-9])?$`).about("The host that serves it."),
			"port":           port.about("The port on the host."),
			"authentication": use("policyOrName"),
		}).about("The service to call."),
		"method":    text().about("The method to call."),
		"arguments": anyObject().about("The request message."),
	})
}

func callAsyncAPI() shape {
	s := object(needs("document"), properties{
		"document":  use("resource").about("The AsyncAPI document."),
		"channel":   text().about("The channel, in AsyncAPI 2."),
		"operation": text().about("The operation, in AsyncAPI 3."),
		"server": object(needs("name"), properties{
			"name":      text().about("The name of a server in the document."),
			"variables": anyObject().about("Values of the variables in the server's URL."),
		}).about("The server to use."),
		"protocol": enum("amqp", "amqp1", "anypointmq", "googlepubsub", "http", "ibmmq", "jms", "kafka", "mercure", "mqtt", "mqtt5", "nats",
			"pulsar", "redis", "sns", "solace", "sqs", "stomp", "ws").about("The protocol by which a server is chosen."),
		"message": object(nil, properties{
			"payload": anyObject().about("The message itself."),
			"headers": anyObject().about("The message's headers."),
		}).about("The message to publish."),
		"subscription": object(needs("consume"), properties{
			"filter": use("expression").about("Which messages are consumed."),
			"consume": object(nil, properties{
				"for":    use("duration").about("At most for this long."),
				"amount": wholeNumber().about("This many messages."),
				"while":  use("expression").about("As long as this is true after a message."),
				"until":  use("expression").about("Until this is true before a message."),
			}).exactlyOne("amount", "while", "until").about("How many messages are consumed."),
			"foreach": use("iterator"),
		}).about("The messages to consume."),
		"authentication": use("policyOrName"),
	})
	s["allOf"] = []shape{
		{"oneOf": []shape{{"required": needs("channel")}, {"required": needs("operation")}}},
		{"oneOf": []shape{{"required": needs("message")}, {"required": needs("subscription")}}},
	}
	return s
}

func callActivity() shape {
	length := use("duration")
	return object(needs("type"), properties{
		"type":  text().about("The type of the work, by which workers register."),
		"queue": anyOf(use("expression"), pattern(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$`)).about("The queue from which workers fetch it (default the queue of the task)."),
		"input": anything().about("The input of the worker (default the task's input)."),
		"timeouts": object(nil, properties{
			"scheduleToStart": length.about("How long each attempt may wait for a worker."),
			"startToClose":    length.about("How long each attempt may take."),
			"scheduleToClose": length.about("How long all attempts may take together."),
			"heartbeat":       length.about("How long a worker may be silent."),
		}).about("The timeouts of the activity."),
		"retry": activityRetry().about("When the activity is attempted again."),
	})
}

// activityRetry specifies the number of attempts: by a number, or by a delay for each.
func activityRetry() shape {
	length, factor, count := use("duration"), shape{"type": "number", "minimum": 1, "maximum": 1000}, integer()
	count["minimum"] = 0
	delays := shape{"type": "array", "minItems": 1, "items": length}
	retry := object(nil, properties{
		"maxAttempts": count.about("How many attempts there are, 0 for any number."),
		"backoff": anyOf(delays, object(nil, properties{
			"initial": length.about("The delay before the second attempt."),
			"factor":  factor.about("By how much each delay is longer than the one before."),
			"max":     length.about("The longest delay."),
		})).about("The delays between attempts: a list, or a growing delay."),
		"nonRetryable": shape{"type": "array", "items": text()}.about("Types of errors after which there is no other attempt."),
	})
	retry["anyOf"] = []shape{{"required": needs("maxAttempts")}, {"required": needs("backoff"), "properties": properties{"backoff": delays}}}
	return retry
}

func callMCP() shape {
	texts := mapOf(anyText())
	return object(needs("method", "transport"), properties{
		"protocolVersion": text().about("The version of the protocol."),
		"method": enum("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read",
			"resources/templates/list").about("The method to call."),
		"parameters": anyOf(anyObject(), text()).about("The method's parameters."),
		"timeout":    use("duration").about("How long the call may take."),
		"transport": object(nil, properties{
			"http": object(needs("endpoint"), properties{
				"endpoint": use("endpoint"), "headers": texts.about("Header fields of every request."),
			}).open().about("A server that is reached over HTTP."),
			"stdio": object(needs("command"), properties{
				"command":     text().about("The command that starts the server."),
				"arguments":   listOf(anyText()).about("The command's arguments."),
				"environment": texts.about("Environment variables of the server."),
			}).open().about("A server that is started for the call."),
			"options": texts.about("Options of the transport."),
		}).exactlyOne("http", "stdio").open().about("How the server is reached."),
		"client": object(needs("name", "version"), properties{
			"name": text().about("The caller's name."), "version": text().about("The caller's version."),
		}).open().about("The name and version that the client sends to the server."),
	}).open()
}
