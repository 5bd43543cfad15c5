package main

import (
	"io"
	"strings"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/limits"
)

// This file reads the inputs of runs.

const inputHint = `forms: -i '{"a":1}', -i @file.json, -i @file.yaml, -i -, -i a=text, -i a:=3`

// assignment matches the beginning of a form that names one value.
var assignment = lazyregexp.New(`^([A-Za-z_$][A-Za-z0-9_.$-]*)(:?=)`)

// otherAssignment matches the beginning of an assignment with an invalid name.
var otherAssignment = lazyregexp.New(`^([^-{\["=:][^{\["=:]*):?=`)

// readInput merges the values of -i in order; without a value, the input is absent, which is nil. The limit of an input is also the limit of each
// text, so that no more is read of a file or a stream.
func readInput(s streams, forms []string, bounds limits.Set) (any, error) {
	var merged any
	for i, form := range forms {
		v, err := readInputForm(s, form, bound{bounds.Max(limits.Input), limits.Input})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			merged = v
			continue
		}
		if !isObject(merged) || !isObject(v) {
			return nil, usagef("give one -i, or put the value below a name: -i name:='[1,2]'", "-i %s: several values of -i are merged only if all of them are objects", shownForm(form))
		}
		merged = merge(merged, v)
	}
	return merged, nil
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

func readInputForm(s streams, form string, b bound) (any, error) {
	switch {
	case form == "-":
		text, err := readStdin(s, "-i -", func(r io.Reader) ([]byte, error) { return b.read(r, "standard input") })
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
	if m := assignment().FindStringSubmatch(form); m != nil {
		return assigned(m[1], m[2], form[len(m[0]):])
	}
	if m := otherAssignment().FindStringSubmatch(form); m != nil {
		return nil, usagef(`JSON may contain any name, for example -i '{"first name": "Ada"}'`,
			"-i %s: a name before = begins with a letter of A to Z, _ or $; further signs are these, digits, . and -", shownForm(form))
	}
	v, err := jsonvalue.DecodeStrict([]byte(form))
	if err != nil {
		return nil, usagef(inputHint, "-i %s is neither JSON nor name=value: %s", shownForm(form), err)
	}
	return v, nil
}

func assigned(name, operator, text string) (any, error) {
	form := name + operator + text
	if operator == "=" {
		if err := jsonvalue.CheckUTF8([]byte(form)); err != nil {
			return nil, usagef("save the file that contains it as UTF-8", "-i %s cannot be used: %s", shownForm(form), err)
		}
		return map[string]any{name: text}, nil
	}
	v, err := jsonvalue.DecodeStrict([]byte(text))
	if err != nil {
		return nil, usagef("text is set with "+name+"=...; := takes JSON", "-i %s is not JSON after :=: %s", shownForm(form), err)
	}
	return map[string]any{name: v}, nil
}

// shownForm returns a value of -i for messages.
func shownForm(form string) string { return shorten.To(terminal.Printable(form), 60) }

// typedInput returns the first form that passes a number, a boolean or null as text, in its JSON form: amount:=10 for amount=10. It is empty if there
// is no such form.
func typedInput(forms []string) string {
	for _, form := range forms {
		m := assignment().FindStringSubmatch(form)
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

// merge merges b into a: objects member by member, anything else as a whole.
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

func readStdin(s streams, flag string, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	if s.inTTY {
		return nil, usagef("pipe something into swrun, or name a file", "%s reads standard input, which is a terminal", flag)
	}
	text, err := read(s.in)
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
