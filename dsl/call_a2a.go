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
