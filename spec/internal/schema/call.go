package schema

// protocol is a kind of call.
type protocol struct {
	definition string // its name in the schema
	name       string // what `call` says
	with       shape  // its arguments
}

// protocols returns the kinds of calls but one: any other call is of a function.
func protocols() []protocol {
	return []protocol{
		{"callAsyncAPI", "asyncapi", callAsyncAPI()},
		{"callGRPC", "grpc", callGRPC()},
		{"callHTTP", "http", callHTTP()},
		{"callOpenAPI", "openapi", callOpenAPI()},
		{"callA2A", "a2a", callA2A()},
		{"callMCP", "mcp", callMCP()},
	}
}

func callTasks() properties {
	all := properties{}
	var names []string
	for _, p := range protocols() {
		names = append(names, p.name)
		all[p.definition] = task(needs("call", "with"), properties{
			"call": constant(p.name).about("What is called: " + p.name + "."),
			"with": p.with.about("The arguments of the call."),
		})
	}
	all["callFunction"] = task(needs("call"), properties{
		"call": shape{"type": "string", "pattern": `\S`, "not": shape{"enum": names}}.
			about("A function of `use.functions`, or of a catalog: `name:1.0.0@catalog`."),
		"with": anyObject().about("The function's arguments."),
	})
	return all
}

// outputFormat is what the output of an HTTP request is.
func outputFormat() shape {
	return enum("raw", "content", "response").about("What the output is: the content (the default), its bytes in base64, or the whole response.")
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
		"agentCard": use("resource").about("The card of the agent."),
		"server":    use("endpoint").about("Where the agent is, if its card does not say so."),
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
		"method":   text().about("The method, for example get."),
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
				"amount": integer().about("This many messages."),
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

// run is what a run task runs; arguments may be a map, as up to 1.0.1.
func run() shape {
	process := properties{
		"stdin":       anyText().about("The standard input; text, or an expression."),
		"arguments":   anyOf(listOf(anyText()), anyObject(), use("expression")).about("The arguments."),
		"environment": anyObject().about("Environment variables."),
	}
	lifetime := object(needs("cleanup"), properties{
		"cleanup": enum("always", "never", "eventually").about("When the container is removed."),
		"after":   use("duration").about("How long after the run it is removed, with `cleanup: eventually`."),
	})
	lifetime["if"] = shape{"properties": properties{"cleanup": constant("eventually")}}
	lifetime["then"] = shape{"required": needs("after")}
	lifetime["else"] = shape{"not": shape{"required": needs("after")}}
	return object(nil, properties{
		"await":  boolean().about("Whether to wait until it ends: true unless set."),
		"return": enum("stdout", "stderr", "code", "all", "none").about("What the output is: stdout unless set."),
		"shell":  object(needs("command"), process.with(properties{"command": text().about("The command.")})).about("A shell command."),
		"script": object(needs("language"), process.with(properties{
			"language": text().about("js or python."),
			"code":     text().about("The script."),
			"source":   use("resource").about("Where the script is."),
		})).exactlyOne("code", "source").about("A script."),
		"container": object(needs("image"), process.with(properties{
			"image":      text().about("The image to run."),
			"name":       text().about("The container's name."),
			"command":    text().about("The command to run in it."),
			"ports":      anyObject().about("The container's ports, and the ports of the host under which they are reached."),
			"volumes":    anyObject().about("Paths of the host, and where the container sees them."),
			"lifetime":   lifetime.about("How long the container stays."),
			"pullPolicy": enum("ifNotPresent", "always", "never").about("When the image is fetched: ifNotPresent unless set."),
		})).about("A container."),
		"workflow": object(needs("namespace", "name", "version"), properties{
			"namespace": text().about("The namespace of the workflow."),
			"name":      text().about("The name of the workflow."),
			"version":   text().about("A semantic version, or latest."),
			"input":     anything().about("The input; the task's own if absent."),
		}).about("Another workflow."),
	}).exactlyOne("container", "script", "shell", "workflow")
}
