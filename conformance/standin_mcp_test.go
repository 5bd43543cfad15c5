package conformance

import (
	"context"
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
		asked := r.Session.InitializeParams()
		answer := map[string]string{"client": asked.ClientInfo.Name + " " + asked.ClientInfo.Version, "protocol": asked.ProtocolVersion, "variable": os.Getenv("VARIABLE")}
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
	return s
}

// conversing answers over streamable HTTP. The server speaks as JSON at one path, and in streams of events at the other.
func conversing(mux *http.ServeMux) {
	server := newMCPServer()
	of := func(*http.Request) *mcp.Server { return server }
	mux.Handle("mcp.test/json", mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	mux.Handle("mcp.test/events", mcp.NewStreamableHTTPHandler(of, nil))
}

// mcpCommand is the argument with which the tests are a server that speaks over standard input and output.
const mcpCommand = "be-an-mcp-server"

// serveMCP is such a server.
func serveMCP() {
	if err := newMCPServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// installed is the variable that says where the programs are, for the processes that the tests start.
const installed = "SWRUN_TEST_MCP"

// installMCP puts programs that start the server where commands are looked for: the one of the specification's example, one that ends, and one
// that says nothing. It returns what removes them.
func installMCP() (remove func(), err error) {
	if os.Getenv(installed) != "" {
		return func() {}, nil
	}
	folder, err := os.MkdirTemp("", "swrun-conformance-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) } // of the temporary folder
	for name, text := range map[string]string{"npx": fmt.Sprintf("exec '%s' %s", os.Args[0], mcpCommand), "mcp-ends": "echo gone >&2; exit 3", "mcp-silent": "exec sleep 1000"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			return remove, err
		}
	}
	if err := os.Setenv(installed, folder); err != nil {
		return remove, err
	}
	return remove, os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}
