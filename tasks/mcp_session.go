package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// mcpPerformer calls methods of servers by the Model Context Protocol, each in a separate session.
type mcpPerformer struct{ config Config }

// maxFarewell is the maximum time in which a server ends a session.
const maxFarewell = time.Second

// errMCPTimeout is the cause of the end of a call whose own timeout is over.
var errMCPTimeout = errors.New("the timeout of the call is over")

func (p *mcpPerformer) perform(ctx context.Context, r interpreter.Request) (any, error) {
	request, prepared := r.Prepared.(*mcpRequest)
	if !prepared {
		request = new(mcpRequest)
		if err := json.Unmarshal(r.Body, request); err != nil {
			return nil, err
		}
	}
	within, done := ctx, func() {}
	if request.Timeout != nil {
		within, done = context.WithTimeoutCause(ctx, *request.Timeout, errMCPTimeout)
	}
	defer done()
	var result any
	var err error
	if request.Command != nil {
		result, err = mcpData(within, r.Memory, func() (json.RawMessage, error) { return p.startServer(within, request) })
	} else {
		result, err = p.askServer(within, request, r)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && context.Cause(within) == errMCPTimeout:
		return nil, &interpreter.TimeoutError{
			Kind: interpreter.DeadlineCall,
			Err:  errors.Timeoutf("%s has not been answered within %s", request.Method, duration.Format(*request.Timeout)),
		}
	}
	return result, err
}

// converse opens a session over a transport, calls the method, and ends the session. If the call is over before that, it ends the session after
// parting returned. It asks for the newest version of the protocol first, and then for older ones, unless the task names a version (semantics 11.11).
func (request *mcpRequest) converse(ctx context.Context, transport *exactTransport, parting func()) (json.RawMessage, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: request.Client.Name, Version: request.Client.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, Logger: slog.New(slog.DiscardHandler), MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: request.Version})
	if err != nil {
		return nil, err
	}
	err = request.call(ctx, session)
	if ctx.Err() != nil {
		parting()
	}
	_ = session.Close() // the result is there, and a server may forget sessions automatically
	if err != nil {
		return nil, err
	}
	return transport.answer()
}

// mcpData requests a result, and returns it as data, exactly as the server sent it.
func mcpData(ctx context.Context, memory interpreter.Memory, ask func() (json.RawMessage, error)) (any, error) {
	result, err := ask()
	if err != nil {
		return nil, err
	}
	if len(result) > maxResponse() {
		return nil, limits.Exceeded(limits.Response)
	}
	if !utf8.Valid(result) {
		return nil, errors.Communicationf("the result of the server is not UTF-8")
	}
	if err := reserveValues(ctx, memory, result); err != nil {
		return nil, err
	}
	data, err := expr.Decode(result)
	if err != nil {
		return nil, errors.Communicationf("the result of the server cannot be read: %s", cut(err.Error()))
	}
	return data, nil
}

// call calls the method.
func (request *mcpRequest) call(ctx context.Context, s *mcp.ClientSession) error {
	switch request.Method {
	case "tools/list":
		return mcpMethod(ctx, request, s.ListTools)
	case "tools/call":
		return request.callTool(ctx, s)
	case "prompts/list":
		return mcpMethod(ctx, request, s.ListPrompts)
	case "prompts/get":
		return mcpMethod(ctx, request, s.GetPrompt)
	case "resources/list":
		return mcpMethod(ctx, request, s.ListResources)
	case "resources/read":
		return mcpMethod(ctx, request, s.ReadResource)
	case "resources/templates/list":
		return mcpMethod(ctx, request, s.ListResourceTemplates)
	}
	return errors.Configurationf("there is no method %s", request.Method)
}

// callTool calls a tool. A server may require parameters in headers, and refuses a call without them. Only the list of tools names these parameters,
// and the library remembers it.
func (request *mcpRequest) callTool(ctx context.Context, s *mcp.ClientSession) error {
	err := mcpMethod(ctx, request, s.CallTool)
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != mcp.CodeHeaderMismatch {
		return err
	}
	cursor := ""
	for range maxToolPages {
		page, failed := s.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if failed != nil {
			return err // it contains the mistake of the call
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	return mcpMethod(ctx, request, s.CallTool)
}

// maxToolPages is the maximum number of pages that are read of the list of tools.
const maxToolPages = 20

// mcpMethod calls a method with the parameters of a request.
func mcpMethod[P, R any](ctx context.Context, request *mcpRequest, method func(context.Context, *P) (*R, error)) error {
	parameters := new(P)
	if request.Parameters.V != nil {
		if err := fitMCP(request.Parameters.V, parameters); err != nil {
			return errors.Validationf("the parameters do not fit %s: %s", request.Method, err)
		}
	}
	_, err := method(ctx, parameters)
	return err
}

// mcpParameters returns the Go value for the parameters of a method.
func mcpParameters(method string) any {
	switch method {
	case "tools/call":
		return new(mcp.CallToolParams)
	case "prompts/list":
		return new(mcp.ListPromptsParams)
	case "prompts/get":
		return new(mcp.GetPromptParams)
	case "resources/list":
		return new(mcp.ListResourcesParams)
	case "resources/read":
		return new(mcp.ReadResourceParams)
	case "resources/templates/list":
		return new(mcp.ListResourceTemplatesParams)
	}
	return new(mcp.ListToolsParams)
}

// fitMCP reads parameters into the type of a method. Its errors do not use the words of the library.
func fitMCP(given, parameters any) error {
	data, err := expr.Encode(given)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields() // unknown members would be lost
	decoder.UseNumber()             // digits would be lost
	if err = decoder.Decode(parameters); err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("`%s` cannot be %s", wrong.Field, wrong.Value)
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("it has no parameter %s", name)
	}
	return err
}

// mcpFailure returns the error of a task for an error of a session. An error that the server answered is of type runtime (semantics 11.11). It
// returns nil if the error is about the connection.
func mcpFailure(err error) *errors.Error {
	if workflow := errors.AsError(err); workflow != nil {
		return workflow
	}
	var answered *jsonrpc.Error
	if !errors.As(err, &answered) {
		return nil
	}
	failed := rpcFailure(answered)
	var other mcp.UnsupportedProtocolVersionData
	if answered.Code == mcp.CodeUnsupportedProtocolVersion && json.Unmarshal(answered.Data, &other) == nil && len(other.Supported) > 0 {
		failed.Detail += fmt.Sprintf(": the server speaks %s, and swrun %s", cut(strings.Join(other.Supported, ", ")), strings.Join(mcp.SupportedProtocolVersions(), ", "))
	}
	return failed
}

// rpcFailure returns the error of a task for an error that a server of JSON-RPC answered.
func rpcFailure(answered *jsonrpc.Error) *errors.Error {
	failed := errors.Runtimef("%s", cut(answered.Message))
	failed.Title = rpcTitle(answered.Code)
	return failed
}

func rpcTitle(code int64) string { return fmt.Sprintf("JSON-RPC Error %d", code) }
