package tasks

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

func callMCP(c Config) interpreter.Kind {
	return told(interpreter.Kind{Kind: dsl.KindCallMCP, Compile: compileCallMCP, Perform: (&mcpPerformer{config: c}).perform})
}

func compileCallMCP(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallMCP)
	with := call.Pointer.Key("with")
	for _, name := range slices.Sorted(maps.Keys(call.Options)) {
		b.Report("SW801", with.Key("transport").Key("options").Key(name), "there are no options of transports: `"+name+"` would mean nothing")
	}
	body := &callMCPBody{call: call, parameters: b.Value(call.Parameters), timeout: b.Duration(call.CallTimeout)}
	body.reportParameters(b)
	if call.HTTP != nil {
		body.endpoint, body.authentication = compileURI(b, call.HTTP.Endpoint), compileAuthentication(b, call.HTTP.Endpoint.Authentication)
		body.headers = b.Value(call.HTTP.Headers)
		return body
	}
	b.Needs(interpreter.NeedProcesses)
	body.environment = b.Value(call.Stdio.Environment)
	return body
}

// reportParameters reports parameters that cannot fit the method with any value of their expressions.
func (c *callMCPBody) reportParameters(b *interpreter.Builder) {
	if c.parameters == nil {
		return
	}
	given, literal := c.parameters.Literal()
	if !literal {
		given = withoutTexts(c.call.Parameters.Data)
	}
	if err := fitMCP(given, mcpParameters(c.call.Method)); err != nil {
		b.Report("SW806", c.call.Parameters.Pointer, "the parameters do not fit "+c.call.Method+": "+err.Error())
	}
}

// withoutTexts returns data with null, which fits everywhere, in place of each text, because a text may be an expression.
func withoutTexts(v any) any {
	switch v := v.(type) {
	case string:
		return nil
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = withoutTexts(item)
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, member := range v {
			all[name] = withoutTexts(member)
		}
		return all
	}
	return v
}

// callMCPBody is a session with a server by the Model Context Protocol, in which one method is called (semantics 11.11).
type callMCPBody struct {
	call           *dsl.CallMCP
	parameters     *expr.Template
	timeout        *interpreter.Duration
	endpoint       *uri // nil for a server that swrun starts
	headers        *expr.Template
	authentication *authentication
	environment    *expr.Template
}

// mcpRequest is the frozen call.
type mcpRequest struct {
	Method     string            `json:"method"`
	Parameters interpreter.Value `json:"parameters"`
	Version    string            `json:"version"` // of the protocol, which is requested first
	Client     mcpClient         `json:"client"`
	Timeout    *time.Duration    `json:"timeout,omitempty"` // nil for none

	Endpoint       string            `json:"endpoint,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Authentication *credential       `json:"authentication,omitempty"`

	Command     []string          `json:"command,omitempty"` // and its arguments
	Environment map[string]string `json:"environment,omitempty"`
}

// mcpClient identifies the caller.
type mcpClient struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (c *callMCPBody) Enter(s *interpreter.Scope) interpreter.Next {
	request, err := c.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(request)
}

func (c *callMCPBody) prepare(s *interpreter.Scope) (*mcpRequest, *errors.Error) {
	r := &mcpRequest{Method: c.call.Method, Version: c.call.ProtocolVersion, Client: mcpClient{c.call.ClientName, c.call.ClientVersion}}
	if r.Client.Name == "" {
		r.Client = mcpClient{userAgent, "1"}
	}
	parameters, err := evalObject(s, c.parameters, s.Input(), "the parameters")
	if err != nil {
		return nil, err
	}
	r.Parameters = interpreter.Value{V: parameters}
	if c.timeout != nil {
		timeout, err := span(s, c.timeout)
		if err != nil {
			return nil, err
		}
		r.Timeout = &timeout
	}
	if c.endpoint == nil {
		return r, c.prepareProcess(s, r)
	}
	if r.Endpoint, err = c.endpoint.expand(s, s.Input()); err != nil {
		return nil, err
	}
	if r.Headers, err = c.prepareHeaders(s); err != nil {
		return nil, err
	}
	r.Authentication, err = c.authentication.prepare(s, s.Input())
	return r, err
}

func (c *callMCPBody) prepareHeaders(s *interpreter.Scope) (map[string]string, *errors.Error) {
	values, err := evalObject(s, c.headers, s.Input(), "the headers")
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, text := http.CanonicalHeaderKey(name), stringify(values[name])
		_, twice := headers[key]
		if err := checkHeader(key, text, twice); err != nil {
			return nil, s.WithExpression(err, c.headers, name)
		}
		headers[key] = text
	}
	return headers, nil
}

// prepareProcess fills in the command, arguments and environment of a server that swrun starts, in the same way as for other processes.
func (c *callMCPBody) prepareProcess(s *interpreter.Scope, r *mcpRequest) *errors.Error {
	started, err := processBody{environment: c.environment}.prepare(s)
	if err != nil {
		return err
	}
	r.Command, r.Environment = append([]string{c.call.Stdio.Command}, c.call.Stdio.Arguments...), started.Environment
	if strings.Contains(strings.Join(r.Command, ""), nul) {
		return errors.Expressionf("the command must not hold the character NUL")
	}
	return nil
}

func (c *callMCPBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	if authorization := c.authentication.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(result)
}
