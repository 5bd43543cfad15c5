package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stdioCells returns the cells of MCP if the server is a process: its answers are lines, which have no headers.
func stdioCells() map[string]incomingCell {
	cells := mcpCells()
	text := `{"content":[],"structuredContent":"é"}`
	cells["another charset"] = comes(sample{body: text, wire: asLatin1, want: "!communication: "}, sample{body: text, want: text}).as("11.11")
	cells["line breaks of Windows"] = comes(sample{body: text, wire: func(text string) string { return strings.TrimSuffix(text, "\n") + "\r\n" }, want: text},
		sample{body: text, wire: func(text string) string { return strings.ReplaceAll(text, ",", ",\r\n") }, want: text})
	cells["empty"] = comes(sample{body: "", want: "!communication: "}, sample{body: text, wire: func(text string) string { return "\n" + text }, want: text}) // nothing at all is silence
	cells["other media types"] = nothingOf("a line does not say what it is")
	cells["several headers"] = nothingOf("lines have no headers")
	return cells
}

// stdioServer answers a call with the file whose name is the number of the request.
const stdioServer = `while read -r line; do
id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
case $line in
*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"incoming","version":"1"}}}\n' "$id";;
*'"tools/call"'*) cat "FOLDER/$id";;
*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id";;
esac
done`

func openStdio(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		folder := t.TempDir()
		for id := range 10 {
			text := s.sent(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, s.body))
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(id)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return performed(t, fmt.Sprintf("do: [{ask: {call: mcp, with: {method: tools/call, parameters: {name: a, arguments: {}}, timeout: PT20S, transport: {stdio: {command: sh, arguments: [-c, %q]}}}}}]\n",
			strings.ReplaceAll(stdioServer, "FOLDER", folder)))
	}
}
