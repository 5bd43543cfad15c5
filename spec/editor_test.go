package spec_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/spec"
)

// languageServer is the version of the language server that most editors use for YAML.
const languageServer = "yaml-language-server@1.19.2"

// TestEditorsComplete requests the suggestions of the real language server at the position of the cursor, which is marked by |.
func TestEditorsComplete(t *testing.T) {
	editor := mustStartEditor(t)
	every := []string{"set", "wait", "emit", "listen", "do", "fork", "for", "switch", "try", "raise", "call http", "run shell", "run script", "run container", "run workflow"}
	for _, c := range []struct {
		name, text string
		has, lacks []string
	}{
		{"a call", "call: |", words("http grpc openapi asyncapi mcp a2a activity:1.0.0@default"), nil},
		{"an empty task", "|", every, nil},
		{"the beginning of a keyword", "wa|", every, nil},
		{"behind a call", "call: http\n      with: { method: get, endpoint: https://example.com }\n      |", words("then timeout output"), every},
		{"behind a set", "set: { x: 1 }\n      |", words("then timeout output"), every},
		{"a directive", "set: { x: 1 }\n      then: |", words("continue exit end"), nil},
		{"a method", "call: http\n      with:\n        method: |", words("get post delete"), nil},
		{"a language", "run:\n        script:\n          language: |", words("js"), nil},
		{"the options of the engine", "set: { x: 1 }\n      metadata:\n        swrun:\n          |", words("queue softDeadline"), nil},
		{"arguments", "call: http\n      with:\n        |", words("method endpoint body"), nil},
	} {
		editor.expect(c.name, "do:\n  - a:\n      "+c.text+"\n", c.has, c.lacks)
	}
	const caught = "do:\n  - a:\n      try:\n        - b: { wait: PT1S }\n      catch:\n        "
	durations, retries := words("PT10S PT5M"), []string{"retry after a constant delay", "retry after longer delays"}
	for _, c := range []struct {
		name, text string
		has        []string
	}{
		{"an empty item of a list of tasks", "do:\n  - |", every},
		{"an empty line below do", "do:\n  |", every},
		{"a line without an indent below do", "do:\n|", words("set wait")},
		{"an empty line below do and above others", "do:\n  |\ntimeout: {after: PT1S}", every},
		{"an empty line behind a task", "do:\n  - a:\n      set: { x: 1 }\n  |", every},
		{"a word below do", "do:\n  wa|", every},
		{"behind do", "do: |", every},
		{"an empty line below try", "do:\n  - a:\n      try:\n        |\n      catch: {}", every},
		{"an empty line below the do of a catch", caught + "do:\n          |", every},
		{"an empty line below the do of a for", "do:\n  - a:\n      for: { in: .items }\n      do:\n        |", every},
		{"an empty line below branches", "do:\n  - a:\n      fork:\n        branches:\n          |", every},
		{"an empty line below the do of a foreach", "do:\n  - a:\n      listen: { to: { any: [] } }\n      foreach:\n        do:\n          |", every},
		{"an empty line below switch", "do:\n  - a:\n      switch:\n        |", words("case otherwise")},
		{"an empty line below extensions", "use:\n  extensions:\n    |", words("extension")},
		{"an empty line below before", "use:\n  extensions:\n    - a:\n        extend: call\n        before:\n          |", every},
		{"another empty item", "do:\n  - a:\n      set: { x: 1 }\n  - |", every},
		{"an empty branch", "do:\n  - a:\n      fork:\n        branches:\n          - |", every},
		{"an empty item of a try", "do:\n  - a:\n      try:\n        - |", every},
		{"an empty item of a catch", caught + "do:\n          - |", every},
		{"an empty case", "do:\n  - a:\n      switch:\n        - |", words("case otherwise")},
		{"an empty extension", "use:\n  extensions:\n    - |", words("extension")},
		{"the timeout of a task", "do:\n  - a:\n      wait: PT1S\n      timeout: |", []string{"timeout after a time"}},
		{"the timeout of a workflow", "timeout: |", []string{"timeout after a time"}},
		{"after", "timeout:\n  after: |", durations},
		{"a wait", "do:\n  - a:\n      wait: |", durations},
		{"a delay", caught + "retry:\n          delay: |", durations},
		{"an interval", "schedule:\n  every: |", durations},
		{"retry", caught + "retry: |", retries},
		{"in retry", caught + "retry:\n          |", append(words("delay backoff limit"), retries...)},
	} {
		editor.expect(c.name, c.text+"\n", c.has, nil)
	}
}

// TestEditorsInsertValidTasks inserts each task that the real language server offers for a list, as an editor does: in an empty line, behind a dash,
// and behind the name of the list. The result is valid.
func TestEditorsInsertValidTasks(t *testing.T) {
	editor := mustStartEditor(t)
	const do = header + "do:\n"
	for _, text := range []string{
		do + "  |\n", do + "  - |\n", header + "do: |\n", do + "    |\n", do + "  - a: { set: { x: 1 } }\n  |\n",
		do + "  - a:\n      fork:\n        branches:\n          |\n",
		do + "  - a:\n      try:\n        |\n      catch: { do: [{ c: { set: { x: 1 } } }] }\n",
		do + "  - a:\n      try:\n        - b: { call: http, with: { method: get, endpoint: https://example.com }, timeout: { after: PT1S } }\n      catch:\n        do:\n          |\n",
	} {
		inserted := 0
		for _, one := range editor.complete(text) {
			if !strings.Contains(one.TextEdit.NewText, "${1:task}") && !strings.Contains(one.TextEdit.NewText, "${1:first}") {
				continue // a member of the document
			}
			inserted++
			before, after, _ := strings.Cut(text, "|")
			indent := text[strings.LastIndex(before, "\n")+1 : len(before)]
			indent = indent[:len(indent)-len(strings.TrimLeft(indent, " "))]
			mustBeValid(t, one.Label+" in "+text, before+strings.ReplaceAll(one.TextEdit.NewText, "\n", "\n"+indent)+after)
		}
		if inserted < 15 {
			t.Errorf("only %d tasks are offered in %s", inserted, text)
		}
	}
}

// expect completes a text at its mark, and compares the offered labels with the required and the forbidden ones.
func (e *editorSession) expect(name, text string, has, lacks []string) {
	e.t.Helper()
	offered := e.labels(text)
	for _, label := range has {
		if !slices.Contains(offered, label) {
			e.t.Errorf("%s: %s is not offered, but %q", name, label, offered)
		}
	}
	for _, label := range offered {
		if slices.Contains(lacks, label) || strings.Contains(label, "Serverless Workflow DSL") || strings.HasPrefix(label, "object") {
			e.t.Errorf("%s: %s is offered", name, label)
		}
	}
}

func words(text string) []string { return strings.Fields(text) }

// editorSession is a connection to a language server.
type editorSession struct {
	t      *testing.T
	in     io.Writer
	out    *bufio.Reader
	schema string
	ids    int
}

// mustStartEditor installs the language server for this test, and starts it with the editor's schema.
func mustStartEditor(t *testing.T) *editorSession {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed: nothing asks the language server")
	}
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), npm, "install", "--prefix", folder, "--no-audit", "--no-fund", languageServer).CombinedOutput(); err != nil {
		t.Skipf("%s cannot be installed: %s", languageServer, out)
	}
	schema := filepath.Join(folder, "editor.schema.json")
	if err := os.WriteFile(schema, spec.EditorSchema(), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), filepath.Join(folder, "node_modules", ".bin", "yaml-language-server"), "--stdio")
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it needs no orderly end
		_ = server.Wait()         // it was killed
	})
	e := &editorSession{t: t, in: in, out: bufio.NewReader(out), schema: "file://" + schema}
	e.ask("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{
		"workspace":    map[string]any{"configuration": true},
		"textDocument": map[string]any{"completion": map[string]any{"completionItem": map[string]any{"snippetSupport": true}}},
	}})
	e.send(map[string]any{"method": "initialized", "params": map[string]any{}})
	e.send(map[string]any{"method": "workspace/didChangeConfiguration", "params": map[string]any{"settings": map[string]any{"yaml": e.settings()}}})
	for len(e.labels("|\n")) == 0 && e.ids < 1000 { // it has not read its settings yet
	}
	return e
}

func (e *editorSession) settings() map[string]any {
	return map[string]any{"schemas": map[string]any{e.schema: "*.yaml"}, "completion": true, "schemaStore": map[string]any{"enable": false}}
}

// offer is one suggestion, and the text that it inserts.
type offer struct {
	Label    string
	TextEdit struct{ NewText string }
}

// labels returns the labels that are offered at the mark | of a text, which follows the header of a document.
func (e *editorSession) labels(text string) (labels []string) {
	for _, one := range e.complete(header + text) {
		labels = append(labels, one.Label)
	}
	return labels
}

// complete returns the suggestions at the mark | of a document.
func (e *editorSession) complete(text string) []offer {
	before, after, _ := strings.Cut(text, "|")
	uri := fmt.Sprintf("file:///%d.yaml", e.ids)
	e.send(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{
		"textDocument": map[string]any{"uri": uri, "languageId": "yaml", "version": 1, "text": before + after},
	}})
	var offered struct{ Items []offer }
	answer := e.ask("textDocument/completion", map[string]any{
		"textDocument": map[string]any{"uri": uri},
		"position":     map[string]any{"line": strings.Count(before, "\n"), "character": len(before) - strings.LastIndex(before, "\n") - 1},
	})
	if err := json.Unmarshal(answer, &offered); err != nil {
		e.t.Fatalf("%s: %v", answer, err)
	}
	return offered.Items
}

// ask sends a request and returns its result. It answers requests of the server while it waits.
func (e *editorSession) ask(method string, params any) json.RawMessage {
	e.ids++
	id := e.ids
	e.send(map[string]any{"id": id, "method": method, "params": params})
	for {
		var message struct {
			ID     any
			Method string
			Result json.RawMessage
			Params struct{ Items []struct{ Section string } }
		}
		if err := json.Unmarshal(e.receive(), &message); err != nil {
			e.t.Fatal(err)
		}
		switch {
		case message.Method == "" && message.ID == float64(id):
			return message.Result
		case message.Method == "workspace/configuration":
			answers := []any{}
			for _, item := range message.Params.Items {
				answers = append(answers, map[string]any{"yaml": e.settings()}[item.Section])
			}
			e.send(map[string]any{"id": message.ID, "result": answers})
		case message.Method != "" && message.ID != nil:
			e.send(map[string]any{"id": message.ID, "result": nil})
		}
	}
}

func (e *editorSession) send(message map[string]any) {
	message["jsonrpc"] = "2.0"
	body, err := json.Marshal(message)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editorSession) receive() []byte {
	length := 0
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			e.t.Fatal(err)
		}
		if line == "\r\n" {
			break
		}
		if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err != nil {
			continue // another header
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(e.out, body); err != nil {
		e.t.Fatal(err)
	}
	return body
}
