package description

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/internal/shorten"
)

// Limits of a document in YAML, whose aliases multiply its content.
const (
	maxMarks  = 600_000 // characters that separate values
	maxValues = 1_000_000
	maxBytes  = 16 << 20 // of its text, with expanded aliases
	maxDepth  = 200
)

// Decode reads a document: as JSON if possible, and otherwise as YAML.
func Decode(data []byte) (any, error) {
	data, err := content.Text("", data)
	if err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); bytes.HasPrefix(trimmed, []byte("{")) {
		v, err := jsonvalue.Decode(data)
		if err == nil {
			return v, nil
		}
		if bytes.HasPrefix(bytes.TrimLeft(trimmed[1:], " \t\r\n"), []byte(`"`)) { // the author meant JSON
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
	}
	// One of these separates each value of YAML from the others, so that this is an upper bound of their number.
	marks := 1
	for _, c := range []string{",", "\n", ":", "[", "{", "-"} {
		marks += bytes.Count(data, []byte(c))
	}
	if marks > maxMarks {
		return nil, fmt.Errorf("it has too many values for a document in YAML; JSON may have more")
	}
	document, _, err := source.Decode(data)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
	}
	if len(document.Content) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	return new(converter).value(document.Content[0], 0)
}

// converter converts YAML to data, and counts the values.
type converter struct{ values, bytes int }

func (c *converter) value(n *yaml.Node, depth int) (any, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	c.values++
	c.bytes += len(n.Value)
	if c.values > maxValues || c.bytes > maxBytes || depth > maxDepth {
		return nil, fmt.Errorf("it is too large or too deep once its aliases are written out")
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		items := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if items[i], err = c.value(item, depth+1); err != nil {
				return nil, err
			}
		}
		return items, nil
	}
	if source.IsLong(n) {
		return nil, fmt.Errorf("line %d: %s is too long for a hexadecimal or octal number; write it with decimal digits", n.Line, shorten.To(n.Value, 40))
	}
	return source.Data(n), nil
}

func (c *converter) mapping(n *yaml.Node, depth int) (any, error) {
	members := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := c.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		c.bytes += len(key.Value)
		if key.Value != "<<" || key.Style != 0 {
			members[key.Value] = v
			continue
		}
		for _, merged := range append(List(v), v) { // one object, or several
			for name, member := range Object(merged) {
				if _, given := members[name]; !given {
					members[name] = member
				}
			}
		}
	}
	return members, nil
}
