package faults

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
)

// start starts n runs of a document; @SINK is replaced by the sink's address, and sink.yaml describes it.
func (w *world) start(n int, body string) {
	w.Helper()
	w.startWith(n, body, nil)
}

// startWith is start for a document that refers to other resources, too.
func (w *world) startWith(n int, body string, resources map[string]string) {
	w.Helper()
	document := "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\n" + strings.ReplaceAll(body, "@SINK", w.sink.url)
	described := map[string][]byte{"sink.yaml": fmt.Appendf(nil, "openapi: 3.1.0\nservers: [{url: '%s'}]\n"+
		"paths: {'/{n}': {get: {operationId: get, parameters: [{name: n, in: path}]}}}\n", w.sink.url)}
	for name, text := range resources {
		described[name] = []byte(strings.ReplaceAll(text, "@SINK", w.sink.url))
	}
	for range n {
		i, err := w.client.StartDefinition(w.Context(), definition.Definition{Document: document, Resources: described}, nil, client.StartOptions{})
		if err != nil {
			w.Fatal(err)
		}
		w.runs = append(w.runs, i)
	}
}

// calls returns a workflow of n calls in a row, alternately of a URL and of an operation.
func calls(n int) string {
	var b strings.Builder
	b.WriteString("do:\n")
	for i := range n {
		if i%2 == 1 {
			fmt.Fprintf(&b, "- s%d: {call: openapi, with: {document: {endpoint: sink.yaml}, operationId: get, parameters: {n: %d}}}\n", i, i)
			continue
		}
		fmt.Fprintf(&b, "- s%d: {call: http, with: {method: get, endpoint: '@SINK/%d'}}\n", i, i)
	}
	return b.String()
}
