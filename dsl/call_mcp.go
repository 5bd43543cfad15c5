package dsl

// CallMCP calls a server by the Model Context Protocol.
type CallMCP struct {
	TaskBase
	ProtocolVersion string
	Method          string
	Parameters      any // nil, an object, or a ${ } string
	CallTimeout     *Duration
	HTTP            *MCPHTTP
	Stdio           *MCPStdio
	Options         map[string]any
	ClientName      string
	ClientVersion   string
}

// Kind returns KindCallMCP.
func (*CallMCP) Kind() Kind { return KindCallMCP }

// MCPHTTP reaches a server over HTTP.
type MCPHTTP struct {
	Endpoint *Endpoint
	Headers  map[string]any
}

// MCPStdio starts a server as a process.
type MCPStdio struct {
	Command     string
	Arguments   []string
	Environment map[string]any
}
