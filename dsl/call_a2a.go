package dsl

// CallA2A calls an agent by the A2A protocol.
type CallA2A struct {
	TaskBase
	AgentCard  *ExternalResource
	Server     *Endpoint
	Method     string
	Parameters any // nil, an object, or a ${ } string
}

// Kind returns KindCallA2A.
func (*CallA2A) Kind() Kind { return KindCallA2A }

func parseCallA2A(_ *parser, o *object, base TaskBase) Task {
	o.allow("agentCard", "server", "method", "parameters").require("method")
	c := &CallA2A{
		TaskBase: base, AgentCard: o.resource("agentCard"), Server: o.endpoint("server"), Parameters: o.objectOrText("parameters"),
		Method: o.enum("method", "message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel", "tasks/resubscribe",
			"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list",
			"tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard"),
	}
	if parameters, ok := c.Parameters.(map[string]any); ok && len(parameters) == 0 {
		o.report("SW107", "parameters", "`parameters` needs at least one property")
	}
	return c
}
