package dsl

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// KindCallMCP is the kind of CallMCP.
const KindCallMCP Kind = "call_mcp"

// CallMCP calls a server by the Model Context Protocol.
type CallMCP struct {
	TaskBase
	ProtocolVersion string // requested first; empty for the newest known version
	Method          string
	Parameters      Value // an object, or text
	CallTimeout     *Duration
	HTTP            *MCPHTTP
	Stdio           *MCPStdio
	Options         map[string]any
	ClientName      string
	ClientVersion   string
}

// Kind returns KindCallMCP.
func (*CallMCP) Kind() Kind { return KindCallMCP }

// Traits: it may have a bound of its own, and servers have errors of their own.
func (t *CallMCP) Traits() Traits {
	return Traits{Group: "call", Unbounded: t.CallTimeout == nil, SendsInput: true, AnyErrors: true, Performed: true}
}

func (t *CallMCP) parts(w *walker) {
	w.value(propertyCall, t.Parameters)
	w.durations(t.CallTimeout)
	if http := t.HTTP; http != nil {
		w.endpoint(http.Endpoint)
		w.value(propertyCall, http.Headers)
	}
	if stdio := t.Stdio; stdio != nil {
		w.value(propertyRun, stdio.Environment)
	}
}

// MCPHTTP reaches a server over HTTP.
type MCPHTTP struct {
	Endpoint *Endpoint
	Headers  Value
}

// MCPStdio starts a server as a process.
type MCPStdio struct {
	Command     string
	Arguments   []string
	Environment Value
}

func parseCallMCP(p *parser, o *object, base TaskBase) Task {
	o.open = p.openObject(o.node, o.at, o.what, "protocolVersion", "method", "parameters", "timeout", "transport", "client").open
	o.require("method", "transport")
	c := &CallMCP{
		TaskBase: base, ProtocolVersion: o.text("protocolVersion"),
		Parameters:  o.valueOf("parameters", o.objectOrText("parameters"), FormData),
		CallTimeout: o.duration("timeout"),
		Method: o.enum("method", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read",
			"resources/templates/list"),
	}
	p.mcpTool(c, o)
	if n := o.value("transport"); n != nil {
		p.mcpTransport(c, n, o.at.Key("transport"))
	}
	if n := o.value("client"); n != nil {
		client := p.openObject(n, o.at.Key("client"), "`client`", "name", "version")
		client.require("name", "version")
		c.ClientName, c.ClientVersion = client.text("name"), client.text("version")
	}
	return c
}

// mcpTool warns of members of a call of a tool that libraries have and the protocol does not.
func (p *parser) mcpTool(c *CallMCP, o *object) {
	given, is := c.Parameters.Data.(map[string]any)
	if !is || c.Method != "tools/call" || given["name"] != nil && given["arguments"] != nil {
		return
	}
	var d Diagnostic
	for _, e := range o.entries("parameters") {
		switch help := wordIn(mcpToolWords(), e.key.Value); {
		case help == "":
		case d.Code == "":
			d = Diagnostic{Code: "SW128", Message: fmt.Sprintf("`%s` has no meaning in the parameters of `tools/call`", e.key.Value), Pointer: e.at,
				Range: p.src.RangeOf(e.key), Help: help}
		default:
			d = p.src.alsoSays(d, e.key, help)
		}
	}
	if d.Code != "" {
		p.add(d)
	}
}

func (p *parser) mcpTransport(c *CallMCP, n *yaml.Node, at Pointer) {
	o := p.openObject(n, at, "`transport`", "http", "stdio", "options")
	o.exactlyOne("http", "stdio")
	c.Options = o.stringMap("options")
	if n := o.value("http"); n != nil {
		h := p.openObject(n, at.Key("http"), "`http`", "endpoint", "headers")
		h.require("endpoint")
		c.HTTP = &MCPHTTP{Endpoint: h.endpointOr("endpoint"), Headers: h.valueOf("headers", h.stringMap("headers"), FormData)}
	}
	if n := o.value("stdio"); n != nil {
		s := p.openObject(n, at.Key("stdio"), "`stdio`", "command", "arguments", "environment")
		s.require("command")
		s.checkVariables()
		c.Stdio = &MCPStdio{Command: s.text("command"), Arguments: s.textsBy("arguments", p.anyText), Environment: s.valueOf("environment", s.stringMap("environment"), FormData)}
	}
}

// stringMap decodes an object of strings.
func (o *object) stringMap(name string) map[string]any {
	for _, e := range o.entries(name) {
		o.p.anyText(e.value, e.at, e.key.Value)
	}
	if n := o.value(name); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	return o.mapping(name)
}
