package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/expr"
)

// outputForms are the values of -o where data is printed.
func outputForms() []string { return []string{"json", "yaml"} }

// writeOutput prints data as one document.
func writeOutput(w io.Writer, v any, form string) error {
	line, err := expr.Encode(v)
	if err != nil {
		return fmt.Errorf("the output cannot be written as JSON: %w", err)
	}
	if form == "yaml" {
		return writeYAML(w, line)
	}
	return write(w, string(line)+"\n")
}

// writeYAML prints JSON text as YAML: the detour gives both forms the same numbers and order.
func writeYAML(w io.Writer, text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return err
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(yamlNode(v)); err != nil {
		return err
	}
	return encoder.Close()
}

// yamlNode keeps numbers as they are written, which yaml.v3 would print as text.
func yamlNode(v any) any {
	switch v := v.(type) {
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: numberTag(v), Value: v.String()}
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = yamlNode(item)
		}
		return items
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = yamlNode(member)
		}
		return object
	}
	return v
}

func numberTag(n json.Number) string {
	if _, err := n.Int64(); err == nil {
		return "!!int"
	}
	return "!!float"
}

// query is a compiled --jq. A nil query changes nothing.
type query struct {
	code *expr.Code
	now  func() time.Time
}

func compileQuery(flag, source string, now func() time.Time) (*query, error) {
	if source == "" {
		return nil, nil
	}
	code, err := expr.Compile(source)
	if err != nil {
		return nil, syntaxUsage(flag, source, err)
	}
	for _, name := range code.Variables() {
		return nil, usagef("only the input is known here", "%s uses $%s, which does not exist here", flag, name)
	}
	return &query{code: code, now: now}, nil
}

// apply returns what q makes of v.
func (q *query) apply(v any) (any, error) {
	if q == nil {
		return v, nil
	}
	return q.code.Eval(q, v)
}

// Variable knows no variable: compileQuery has refused all.
func (q *query) Variable(string) any { return nil }

// Now is the clock of jq's now.
func (q *query) Now() time.Time { return q.now() }
