package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addition is the input of the tool add.
type addition struct {
	A int `json:"a"`
	B int `json:"b"`
}

// newMCPServer returns a server by the Model Context Protocol with tools, a prompt, a resource and a template.
func newMCPServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "stand-in", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in addition) (*mcp.CallToolResult, map[string]int, error) {
		return nil, map[string]int{"sum": in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it does not work")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "who"}, func(_ context.Context, r *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, map[string]string, error) {
		client, protocol := whoAsks(r)
		answer := map[string]string{"client": client, "protocol": protocol, "variable": os.Getenv("VARIABLE")}
		if r.Extra != nil {
			answer["authorization"], answer["header"] = r.Extra.Header.Get("Authorization"), r.Extra.Header.Get("X-Header")
			answer["keyed"] = fmt.Sprint(r.Extra.Header.Get("Idempotency-Key") != "")
		}
		return nil, answer, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "conversations_add_message"}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, map[string]any, error) {
		return nil, map[string]any{"posted": in["payload"]}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	s.AddTool(&mcp.Tool{Name: "repeat", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet " + r.Params.Arguments["name"]}}}}, nil
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: "about " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{Name: "readme", URI: "docs://readme"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "page", URITemplate: "docs://pages/{name}"}, read)
	s.AddTool(&mcp.Tool{Name: "exact", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	s.AddTool(&mcp.Tool{Name: "headed", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"region": map[string]any{"type": "string", "x-mcp-header": "Region"}}}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Mcp-Param-Region")}}}, nil
		})
	s.AddReceivingMiddleware(exactly)
	return s
}

// whoAsks returns the client of a call and its version of the protocol. Without a session each call contains them.
func whoAsks(r *mcp.CallToolRequest) (client, protocol string) {
	if version, ok := r.Params.Meta[mcp.MetaKeyProtocolVersion].(string); ok {
		info, _ := r.Params.Meta[mcp.MetaKeyClientInfo].(map[string]any)
		return fmt.Sprint(info["name"], " ", info["version"]), version
	}
	if asked := r.Session.InitializeParams(); asked != nil && asked.ClientInfo != nil {
		return asked.ClientInfo.Name + " " + asked.ClientInfo.Version, asked.ProtocolVersion
	}
	return "", r.Extra.Header.Get("Mcp-Protocol-Version")
}

// exactly answers calls of the tool exact with members and a content that the library does not know, and with a number of many digits.
func exactly(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if call, ok := r.GetParams().(*mcp.CallToolParamsRaw); ok && call.Name == "exact" {
			return &exactResult{}, nil
		}
		return next(ctx, method, r)
	}
}

type exactResult struct{ mcp.ResultBase }

// MarshalJSON implements json.Marshaler.
func (*exactResult) MarshalJSON() ([]byte, error) {
	return []byte(`{"content": [{"type": "hologram", "depth": 3}], "structuredContent": {"id": 7615917337495251231}, "isError": false, "beyond": null, "Content": 1}`), nil
}

// conversing answers over streamable HTTP. The server answers with JSON at one path, and with streams of events at the other.
func conversing(mux *http.ServeMux) {
	server := newMCPServer()
	of := func(*http.Request) *mcp.Server { return server }
	mux.Handle("mcp.test/json", mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	mux.Handle("mcp.test/events", mcp.NewStreamableHTTPHandler(of, nil))
	mux.Handle("mcp.test/stateless", mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{Stateless: true}))
	mux.Handle("mcp.test/stateless-json", mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	mux.HandleFunc("mcp.test/future", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ ID json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&asked) // without an id the answer belongs to no request
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "error": {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2099-01-01"]}}}`, asked.ID)
	})
}

// mcpCommand is the argument with which the test program is a server on standard input and output.
const mcpCommand = "be-an-mcp-server"

// serveMCP is such a server.
func serveMCP() {
	if err := newMCPServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// installed is the environment variable with the folder of the programs, for the processes that the tests start.
const installed = "SWRUN_TEST_MCP"

// installMCP puts programs that start the server into a folder of PATH: the program of the specification's example, a program that ends, and a
// program that stays silent. It returns a function that removes them.
func installMCP() (remove func(), err error) {
	if os.Getenv(installed) != "" {
		return func() {}, nil
	}
	folder, err := os.MkdirTemp("", "swrun-conformance-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) } // a temporary folder
	for name, text := range map[string]string{"npx": fmt.Sprintf("exec '%s' %s", os.Args[0], mcpCommand), "mcp-ends": "echo gone >&2; exit 3", "mcp-silent": "exec sleep 1000",
		"mcp-strict": fmt.Sprintf(`read -r first; case $first in *'"initialize"'*) (printf '%%s\n' "$first"; exec cat) | exec '%s' %s;; *) echo 'expected initialize' >&2; exit 1;; esac`, os.Args[0], mcpCommand)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			return remove, err
		}
	}
	if err := os.Setenv(installed, folder); err != nil {
		return remove, err
	}
	return remove, os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}
