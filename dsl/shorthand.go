package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
)

// gluedText matches text that was meant as a key and a value.
var gluedText = regexp.MustCompile(`^[A-Za-z]\w*:[^\s/]\S*$`)

// howToWrite returns how an object is written that was given as one value, or "".
func (s *Source) howToWrite(what string, n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode {
		return map[string]string{"`fork`": "write the list below `branches`", "`catch`": "write the list below `do`"}[what]
	}
	if n.Kind != yaml.ScalarNode || n.Value == "" || source.IsNull(n) {
		return ""
	}
	value := oneLine(n.Value)
	switch {
	case source.IsText(n) && gluedText.MatchString(n.Value):
		return "put a space after the colon"
	case source.IsNumber(n):
		return howToWriteCount(what, value)
	case !source.IsText(n):
		return ""
	}
	text := s.Quote(value)
	switch what {
	case "`output`", "`export`":
		return fmt.Sprintf("write `{ as: %s }`", text)
	case "`input`":
		return fmt.Sprintf("write `{ from: %s }`", text)
	case "`shell`":
		return fmt.Sprintf("write `{ command: %s }`", text)
	case "`run`":
		return fmt.Sprintf("write `{ shell: { command: %s } }`", text)
	case "`for`":
		return fmt.Sprintf("write `{ each: item, in: %s }`", text)
	case "`raise`":
		return "write `{ error: { type: ..., status: ... } }`, or `{ error: NAME }` with a name of use.errors"
	case "`script`":
		return "write `{ language: js, code: ... }`"
	case "`container`":
		return fmt.Sprintf("write `{ image: %s }`", text)
	case "`errors`":
		if contains(standardNames(), strings.ToLower(value)) {
			value = errors.Base + strings.ToLower(value)
		}
		return fmt.Sprintf("write `{ with: { type: %s } }`", s.Quote(value))
	case "`workflow`":
		return fmt.Sprintf("write `{ namespace: ..., name: %s, version: latest }`", text)
	case "`backoff`":
		if slices.Contains([]string{"constant", "exponential", "linear"}, value) {
			return fmt.Sprintf("write `{ %s: {} }`", value)
		}
	case "`jitter`":
		return fmt.Sprintf("write `{ from: PT0S, to: %s }`", value)
	case "a timeout":
		return fmt.Sprintf("write `{ after: %s }`", value)
	}
	return ""
}

// howToWriteCount returns how a number of retries is written in the place of a number.
func howToWriteCount(what, number string) string {
	switch what {
	case "a retry policy":
		return fmt.Sprintf("write `{ limit: { attempt: { count: %s } } }`", number)
	case "`limit`":
		return fmt.Sprintf("write `{ attempt: { count: %s } }`", number)
	case "`attempt`":
		return fmt.Sprintf("write `{ count: %s }`", number)
	}
	return ""
}

// memberProperties returns the properties of objects by the member that they belong to: one that is found beside the member was
// probably meant to be inside it.
func memberProperties() map[string][]string {
	return map[string][]string{
		"document": {"dsl", "namespace", "name", "version"},
		"with":     {"type", "method", "endpoint", "headers", "body", "query", "server", "channel", "service", "operationId", "parameters"},
		"error":    {"type", "status", "title", "detail", "instance"},
		"event":    {"type", "source", "data", "subject"},
		"to":       {"one", "any", "all"},
		"shell":    {"command", "arguments", "environment"},
		"script":   {"code", "language", "source"},
	}
}

// memberWith returns the allowed member that has a property, or "".
func memberWith(name string, allowed []string) string {
	for _, member := range allowed {
		if slices.Contains(memberProperties()[member], name) {
			return member
		}
	}
	return ""
}

// reportTooDeep reports properties of an inner object that belong beside it, as properties of o.
func (o *object) reportTooDeep(inner *object, names ...string) {
	for _, name := range names {
		key := inner.key(name)
		if key == nil {
			continue
		}
		around := inner.at.Tokens()
		where := around[len(around)-1]
		o.markPresent(name)
		o.p.add(Diagnostic{
			Code: "SW106", Message: fmt.Sprintf("`%s` belongs beside `%s`, not into it", name, where), Pointer: inner.at.Key(name), Range: o.p.src.RangeOf(key),
			Label: "move it one level up", Help: fmt.Sprintf("indent `%s` as deep as `%s`", name, where),
		})
	}
}

// markPresent notes that a property is there, though not where or not as it is called, so that it is not missed as well.
func (o *object) markPresent(name string) {
	if o.misspelt == nil {
		o.misspelt = map[string]bool{}
	}
	o.misspelt[name] = true
}

// reportNotNested reports a property that belongs into a member, once for each member.
func (o *object) reportNotNested(key *yaml.Node, member string, allowed []string) {
	if o.misspelt[member] {
		return
	}
	o.markPresent(member)
	o.p.add(Diagnostic{
		Code: "SW106", Message: fmt.Sprintf("`%s` belongs to `%s`", key.Value, member), Pointer: o.at.Key(key.Value), Range: o.p.src.RangeOf(key),
		Expected: allowed, Label: fmt.Sprintf("move it into `%s`", member), Help: fmt.Sprintf("write `%s:` and indent its properties below it", member),
	})
}
