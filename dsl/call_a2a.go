package dsl

// KindCallA2A is the kind of CallA2A.
const KindCallA2A Kind = "call_a2a"

// CallA2A calls an agent by the A2A protocol.
type CallA2A struct {
	TaskBase
	AgentCard  *ExternalResource
	Server     *Endpoint
	Method     string
	Parameters Value // an object, or text
}

// Kind returns KindCallA2A.
func (*CallA2A) Kind() Kind { return KindCallA2A }

// Traits returns the traits of a call that a server answers.
func (*CallA2A) Traits() Traits { return serverCall() }

func (t *CallA2A) parts(w *walker) {
	w.resource(t.AgentCard)
	w.endpoint(t.Server)
	w.value(propertyCall, t.Parameters)
}

func parseCallA2A(_ *parser, o *object, base TaskBase) Task {
	o.allow("agentCard", "server", "method", "parameters").require("method")
	c := &CallA2A{
		TaskBase: base, AgentCard: o.resource("agentCard"), Server: o.endpoint("server"),
		Parameters: o.valueOf("parameters", o.objectOrText("parameters"), FormData),
		Method: o.enum("method", "message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel", "tasks/resubscribe",
			"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list",
			"tasks/pushNotificationConfig/delete", "agent/getAuthenticatedExtendedCard"),
	}
	if parameters, ok := c.Parameters.Data.(map[string]any); ok && len(parameters) == 0 {
		o.reportWith("SW107", "parameters", "`parameters` needs at least one property", "write what the method takes, or leave `parameters` out")
	}
	if n := o.value("server"); n != nil && c.AgentCard != nil && len(n.Content) <= 2 { // text, or an object of one member
		o.reportWith("SW128", "server", "`server` means nothing beside `agentCard`, which says where the agent is, unless it has the credential for that host",
			"remove `server`, or give it `authentication`")
	}
	return c
}
