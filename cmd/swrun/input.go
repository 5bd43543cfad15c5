package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/limits"
)

// This file reads the data that runs start with.

const inputHint = `forms: -i '{"a":1}', -i @file.json, -i @file.yaml, -i -, -i a=text, -i a:=3`

var assignment = regexp.MustCompile(`^([A-Za-z_$][A-Za-z0-9_.$-]*)(:?=)`)

// readInput merges the values of -i in order; without any, the input is absent, which is nil. The limit of an input is one of
// each text too, so that no more than that is read of a file or a stream.
func readInput(s streams, forms []string, bounds limits.Set) (any, error) {
	var merged any
	for i, form := range forms {
		v, err := readInputForm(s, form, bound{bounds.Max(limits.Input), limits.Input})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			merged = v
		} else {
			merged = merge(merged, v)
		}
	}
	return merged, nil
}

func readInputForm(s streams, form string, b bound) (any, error) {
	switch {
	case form == "-":
		text, err := readStdin(s, "-i -", b)
		if err != nil {
			return nil, err
		}
		return decodeInput("standard input", text)
	case strings.HasPrefix(form, "@"):
		text, err := readFile("the input", form[1:], b)
		if err != nil {
			return nil, err
		}
		return decodeInput(form[1:], text)
	}
	if m := assignment.FindStringSubmatch(form); m != nil {
		return assigned(m[1], m[2], form[len(m[0]):])
	}
	v, err := expr.Decode([]byte(form))
	if err != nil {
		return nil, usagef(inputHint, "-i %s is neither JSON nor name=value: %s", shorten.To(terminal.Printable(form), 60), err)
	}
	return v, nil
}

func assigned(name, operator, text string) (any, error) {
	if operator == "=" {
		return map[string]any{name: text}, nil
	}
	v, err := expr.Decode([]byte(text))
	if err != nil {
		return nil, usagef("text is set with "+name+"=...; := takes JSON", "-i %s:=%s is not JSON: %s",
			name, shorten.To(terminal.Printable(text), 60), err)
	}
	return map[string]any{name: v}, nil
}

// typedInput returns the first of the forms that gives as text what is also a number, a boolean or null, as JSON: amount:=10 for
// amount=10. It is empty if there is none.
func typedInput(forms []string) string {
	for _, form := range forms {
		m := assignment.FindStringSubmatch(form)
		if m == nil || m[2] != "=" {
			continue
		}
		text := form[len(m[0]):]
		if v, err := expr.Decode([]byte(text)); err == nil {
			if _, isText := v.(string); !isText {
				return m[1] + ":=" + text
			}
		}
	}
	return ""
}

// merge lays b over a: objects member by member, anything else as a whole.
func merge(a, b any) any {
	under, ok := a.(map[string]any)
	over, ok2 := b.(map[string]any)
	if !ok || !ok2 {
		return b
	}
	merged := make(map[string]any, len(under)+len(over))
	for name, v := range under {
		merged[name] = v
	}
	for name, v := range over {
		if old, exists := merged[name]; exists {
			v = merge(old, v)
		}
		merged[name] = v
	}
	return merged
}

func readStdin(s streams, flag string, b bound) ([]byte, error) {
	if s.inTTY {
		return nil, usagef("pipe something into swrun, or name a file", "%s reads standard input, which is a terminal", flag)
	}
	text, err := b.read(s.in, "standard input")
	if err != nil {
		return nil, fileError("standard input", err)
	}
	return text, nil
}

// decodeInput reads JSON or YAML, by the extension of its name, which messages quote.
func decodeInput(name string, text []byte) (any, error) {
	v, err := decodeData(name, text)
	if err != nil {
		return nil, usagef(inputHint, "%s is not a valid input: %s", name, err)
	}
	return v, nil
}

// decodeData reads one JSON or YAML value into the types of expr.Decode. A file called *.json must be JSON.
func decodeData(name string, text []byte) (any, error) {
	v, err := expr.Decode(text)
	if err == nil || strings.EqualFold(filepath.Ext(name), ".json") {
		return v, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var node yaml.Node
	if err := decoder.Decode(&node); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); err != io.EOF {
		return nil, fmt.Errorf("it holds more than one YAML document")
	}
	plainTimes(&node)
	if err := node.Decode(&v); err != nil {
		return nil, err
	}
	return expr.Normalize(textKeys(v))
}

// plainTimes has dates read as text, as JSON has no dates.
func plainTimes(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, child := range n.Content {
		plainTimes(child)
	}
}

// textKeys turns the keys that YAML allows and JSON does not, such as numbers, into text.
func textKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		object := make(map[string]any, len(v))
		for key, member := range v {
			object[fmt.Sprint(key)] = textKeys(member)
		}
		return object
	case map[string]any:
		for key, member := range v {
			v[key] = textKeys(member)
		}
	case []any:
		for i, item := range v {
			v[i] = textKeys(item)
		}
	}
	return v
}
