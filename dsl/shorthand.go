package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/lazyregexp"
)

// gluedText matches text that was meant as a key and a value, without the space after the colon.
var gluedText = lazyregexp.New(`^[A-Za-z]\w*:[^\s/]\S*$`)

// howToWrite returns how to write an object in whose place one value stands, or "".
func (s *Source) howToWrite(what string, n *yaml.Node) string {
	if n.Kind == yaml.SequenceNode {
		return map[string]string{"`fork`": "write the list below `branches`", "`catch`": "write the list below `do`"}[what]
	}
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return ""
	}
	value := oneLine(n.Value)
	switch {
	case source.IsNumber(n):
		return filledIn(objectsAroundNumber()[what], value)
	case !source.IsText(n):
		return ""
	case gluedText().MatchString(n.Value):
		return "put a space after the colon"
	case what == "`backoff`" && !slices.Contains(backoffs(), value):
		return ""
	case what == "`errors`" && contains(standardNames(), strings.ToLower(value)):
		value = errors.Base + strings.ToLower(value)
	}
	if object := objectsAroundValue()[what]; object != "" {
		return filledIn(object, value)
	}
	return filledIn(objectsAroundText()[what], s.Quote(value))
}

// filledIn returns the advice to write an object with a value in the place of $, or "".
func filledIn(object, value string) string {
	if object == "" {
		return ""
	}
	return "write " + strings.ReplaceAll(object, "$", value)
}

// objectsAroundText returns how to write objects in whose place a text stands.
func objectsAroundText() map[string]string {
	return map[string]string{
		"`output`": "`{ as: $ }`", "`export`": "`{ as: $ }`", "`input`": "`{ from: $ }`",
		"`shell`": "`{ command: $ }`", "`run`": "`{ shell: { command: $ } }`", "`container`": "`{ image: $ }`",
		"`script`": "`{ language: js, code: ... }`", "`workflow`": "`{ namespace: ..., name: $, version: latest }`",
		"`for`": "`{ each: item, in: $ }`", "`errors`": "`{ with: { type: $ } }`",
		"`raise`": "`{ error: { type: ..., status: ... } }`, or `{ error: NAME }` with a name of use.errors",
	}
}

// objectsAroundValue returns the same for values that need no quotes.
func objectsAroundValue() map[string]string {
	return map[string]string{"`backoff`": "`{ $: {} }`", "`jitter`": "`{ from: PT0S, to: $ }`", "a timeout": "`{ after: $ }`"}
}

// objectsAroundNumber returns the same for numbers: of retries.
func objectsAroundNumber() map[string]string {
	return map[string]string{
		"a retry policy": "`{ limit: { attempt: { count: $ } } }`", "`limit`": "`{ attempt: { count: $ } }`", "`attempt`": "`{ count: $ }`",
	}
}

// memberProperties returns the properties of members of objects. If one of them stands beside the member, it was probably meant
// inside.
func memberProperties() map[string][]string {
	return map[string][]string{
		"document": {"dsl", "namespace", "name", "version"},
		"with":     {"type", "method", "endpoint", "headers", "body", "query", "server", "channel", "service", "operationId", "parameters"},
		"error":    {"type", "status", "title", "detail", "instance"},
		"event":    {"with", "type", "source", "data", "subject"},
		"to":       {"one", "any", "all", "until"},
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

// reportTooDeep reports properties inside an object that belong one level up, into o.
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
			Code: "SW106", Message: fmt.Sprintf("`%s` belongs beside `%s`, not into it", name, where),
			Pointer: inner.at.Key(name), Range: o.p.src.RangeOf(key),
			Label: "move it one level up", Help: fmt.Sprintf("indent `%s` as deep as `%s`", name, where),
		})
	}
}

// markPresent notes that a property is there in a wrong place or under a wrong name, so that it is not reported as missing too.
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
