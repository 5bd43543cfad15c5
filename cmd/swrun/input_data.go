package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/internal/shorten"
)

// This file decodes data that people write in files: inputs, events, secrets.

const byteOrderMark = "\ufeff"

// decodeData reads one JSON or YAML value into the types of expr.Decode. A file with the extension .json must be JSON. Scalars of YAML mean the same
// as in a document.
func decodeData(name string, text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	if err := jsonvalue.CheckUTF8(text); err != nil {
		return nil, err
	}
	_, notJSON := expr.Decode(text)
	if notJSON == nil || strings.EqualFold(filepath.Ext(name), ".json") {
		return jsonvalue.DecodeStrict(text)
	}
	return decodeYAML(text)
}

func decodeYAML(text []byte) (any, error) {
	document, decoder, err := source.Decode(text)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is empty")
	}
	if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it contains more than one YAML document")
	}
	if err := checkYAML(document); err != nil {
		return nil, err
	}
	if err := checkJSON(document.Content[0]); err != nil {
		return nil, err
	}
	var bounded any // the library refuses aliases whose value is infinite, or far larger than the text
	if err := document.Decode(&bounded); err != nil {
		return nil, err
	}
	return yamlData(document.Content[0]), nil
}

// checkYAML refuses values that JSON does not have.
func checkYAML(n *yaml.Node) error {
	switch {
	case n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str":
		return fmt.Errorf("line %d: the tag %s is not allowed: data may contain only JSON values", n.Line, n.Tag)
	case n.Kind == yaml.ScalarNode && source.IsLong(n):
		return fmt.Errorf("line %d: %s is too long for a hexadecimal or octal number; write it with decimal digits", n.Line, shorten.To(n.Value, 40))
	case n.Kind == yaml.ScalarNode && source.TypeOf(n) == source.NotANumber:
		return fmt.Errorf("line %d: %s is not a number in JSON", n.Line, n.Value)
	}
	known := map[string]bool{}
	for i, part := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && !isMergeKey(part) {
			key := resolved(part)
			if key.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a key must be text, as in JSON", part.Line)
			}
			if known[key.Value] {
				return fmt.Errorf("line %d: the key %q occurs twice in one object", part.Line, key.Value)
			}
			known[key.Value] = true
			continue
		}
		if err := checkYAML(part); err != nil {
			return err
		}
	}
	return nil
}

// checkJSON refuses words inside { } and [ ] that other languages write for numbers that JSON does not have: YAML reads them as text.
func checkJSON(n *yaml.Node) error {
	if n.Style&yaml.FlowStyle == 0 {
		return nil
	}
	for _, part := range n.Content {
		if part.Kind == yaml.ScalarNode && part.Style == 0 && slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, part.Value) {
			return fmt.Errorf("line %d: JSON has no number %s: write null, or %q for the text", part.Line, part.Value, part.Value)
		}
		if err := checkJSON(part); err != nil {
			return err
		}
	}
	return nil
}

// yamlData returns the data of a node; keys are text as they are written.
func yamlData(n *yaml.Node) any {
	n = resolved(n)
	switch n.Kind {
	case yaml.MappingNode:
		return yamlObject(n)
	case yaml.SequenceNode:
		items := make([]any, len(n.Content))
		for i, item := range n.Content {
			items[i] = yamlData(item)
		}
		return items
	}
	return source.Data(n)
}

// yamlObject returns the data of a mapping. Its own members take precedence over members that a merge key adds; of those, the first takes precedence.
func yamlObject(n *yaml.Node) map[string]any {
	object := make(map[string]any, len(n.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key, value := n.Content[i], resolved(n.Content[i+1]); {
		case !isMergeKey(key):
			object[resolved(key).Value] = yamlData(value)
		case value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		default:
			merged = append(merged, value)
		}
	}
	for _, from := range merged {
		for name, member := range yamlObject(resolved(from)) {
			if _, known := object[name]; !known {
				object[name] = member
			}
		}
	}
	return object
}

func isMergeKey(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge" }

// resolved returns the node that an alias refers to, and any other node unchanged.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
