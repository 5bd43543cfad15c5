package source

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// readJSON builds the same tree as the YAML library from a JSON text: YAML cannot read every string of JSON.
func (r *reader) readJSON() *yaml.Node {
	j := &jsonReader{tree: r.Tree, decoder: json.NewDecoder(bytes.NewReader(r.Text[r.lines[0]:]))}
	j.decoder.UseNumber()
	return j.value(0)
}

type jsonReader struct {
	tree    *Tree
	decoder *json.Decoder
}

// value reads the next value of a text that is known to be valid. It omits values that are nested too deep, except for one node that the check of the
// depth finds.
func (j *jsonReader) value(depth int) *yaml.Node {
	offset := j.next()
	token, err := j.decoder.Token()
	if err != nil {
		return nil
	}
	position := j.tree.PositionOf(offset)
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: position.Line, Column: position.Column}
	switch token := token.(type) {
	case json.Delim:
		n.Kind = yaml.MappingNode
		if token == '[' {
			n.Kind = yaml.SequenceNode
		}
		n.Style = yaml.FlowStyle
		for j.decoder.More() && depth <= MaxDepth {
			n.Content = append(n.Content, j.value(depth+1))
		}
		_, _ = j.decoder.Token() // the closing delimiter: the text is valid
	case string:
		n.Value, n.Style = token, yaml.DoubleQuotedStyle
	case json.Number:
		n.Value = token.String()
	case bool:
		n.Value = strconv.FormatBool(token)
	case nil:
		n.Value = "null"
	}
	return n
}

// next returns the offset of the next token.
func (j *jsonReader) next() int {
	offset := j.tree.lines[0] + int(j.decoder.InputOffset())
	for offset < len(j.tree.Text) && strings.IndexByte(" \t\r\n,:", j.tree.Text[offset]) >= 0 {
		offset++
	}
	return offset
}
