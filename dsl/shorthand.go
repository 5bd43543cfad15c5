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

// gluedText matches text that was meant as a key and a value, but lacks the space after the colon.
var gluedText = lazyregexp.New(`^[A-Za-z]\w*:[^\s/]\S*$`)

// loopHeader matches the head of a loop in other languages: item in .items.
var loopHeader = lazyregexp.New(`^\$?([A-Za-z_]\w*) in (.+)$`)

const propertiesBelow = "write its properties below it, indented deeper than its name"

// documentBelow is the help for a text that is no document.
const documentBelow = "a workflow has `document:`, which names it, and its tasks below `do:`; `swrun init` makes one to begin with"

// howToFill returns the content of a required property that has no value, or that is missing.
func howToFill(what, name string) string {
	switch {
	case what == aWorkflow && name == "document":
		return documentBelow
	case name == "do" || name == "try":
		return "write the tasks below it, each as `- name:` with its properties indented below"
	}
	return "write its value after the colon, or below it, indented deeper"
}

// howToWrite returns how to write an object in the place of one value, or "".
func (s *Source) howToWrite(what string, n *yaml.Node) string {
	switch {
	case what == aWorkflow:
		return documentBelow
	case n.Kind == yaml.SequenceNode:
		return objectsAroundList(n)[what]
	case source.IsNull(n):
		return propertiesBelow
	case n.Kind != yaml.ScalarNode || n.Value == "":
		return ""
	}
	value := oneLine(strings.TrimRight(n.Value, "\n"))
	switch {
	case source.IsNumber(n):
		return filledIn(objectsAroundNumber()[what], value)
	case what == "`jitter`" && source.IsBool(n):
		return filledIn(objectsAroundNumber()[what], value)
	case !source.IsText(n):
		return ""
	case s.textElsewhere(what, value) != "":
		return s.textElsewhere(what, value)
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
	if strings.Contains(strings.TrimSpace(n.Value), "\n") { // on one line it would be another text
		return filledIn(objectsAroundText()[what], "...")
	}
	return filledIn(objectsAroundText()[what], s.Quote(value))
}

// objectsAroundList returns how to write objects in the place of a list.
func objectsAroundList(n *yaml.Node) map[string]string {
	return map[string]string{
		"`fork`": "write the list below `branches`", "`catch`": catchAsList(n), "a case": "write one directive: `then: end`",
		"a retry policy": "there is one policy: write its properties without hyphens, for example `{ limit: { attempt: { count: 3 } } }`",
		"`shell`":        "there is one command: `command: make && make test`",
		"`script`":       "commands are run by `shell: { command: 'make && make test' }`",
		"`errors`":       "a filter takes one error: write `with: { type: ... }`, or a condition of the catch: `when: .status == 408 or .status == 503`",
		"`to`":           "write the list below `any` or `all`", "`for`": "write the list below `in`", "`document`": "write its properties without hyphens", "`schedule`": "write its properties without hyphens",
	}
}

// textElsewhere returns the object for a text that represents an object in other languages, or "".
func (s *Source) textElsewhere(what, value string) string {
	switch {
	case what == "`for`" && loopHeader().MatchString(value):
		m := loopHeader().FindStringSubmatch(value)
		return fmt.Sprintf("write `{ each: %s, in: %s }`", m[1], s.Quote(m[2]))
	case what == "`schedule`" && (len(strings.Fields(value)) == 5 || strings.HasPrefix(value, "@")):
		return fmt.Sprintf("write `{ cron: %s }`", s.Quote(value))
	case what == "`workflow`" && !gluedText().MatchString(value):
		return "write " + workflowOf(value)
	case what == "`basic`" && strings.Contains(value, ":"):
		user, password, _ := strings.Cut(value, ":")
		return fmt.Sprintf("write `{ username: %s, password: %s }`", s.Quote(user), s.Quote(password))
	case what == "`errors`" && (value == "*" || strings.EqualFold(value, "all")):
		return "leave `errors` out, which catches every error"
	case what == "`transport`" && strings.Contains(value, "://"):
		return fmt.Sprintf("write `{ http: { endpoint: %s } }`", s.Quote(value))
	case what == "`transport`":
		return mcpTransportOf(value)
	}
	return ""
}

// mcpTransportOf returns how to write the way to a server of the Model Context Protocol that a word names.
func mcpTransportOf(word string) string {
	switch word = strings.ToLower(word); {
	case strings.Contains(word, "http"), word == "sse":
		return "write `{ http: { endpoint: https://... } }`"
	case word == "stdio":
		return "write `{ stdio: { command: ... } }`"
	}
	return mcpTransports
}

// catchAsList returns how to write a catch in the place of a list: of tasks, or of the catches of several errors.
func catchAsList(n *yaml.Node) string {
	if len(n.Content) > 0 && isObject(n.Content[0]) && len(n.Content[0].Content) > 0 && contains([]string{"errors", "when", "as", "retry", "exceptWhen"}, n.Content[0].Content[0].Value) {
		return "a `try` has one `catch`: write its properties without hyphens, and put a `try` around this one for other errors"
	}
	return "write the list below `do`"
}

// workflowOf returns how to write the workflow that a text names: shop/order, or shop/order:1.0.0.
func workflowOf(text string) string {
	name, version, given := strings.Cut(text, ":")
	if !given {
		version = "latest"
	}
	namespace, short, given := strings.Cut(name, "/")
	if !given {
		namespace, short = "...", name
	}
	return fmt.Sprintf("`{ namespace: %s, name: %s, version: %s }`", namespace, short, version)
}

// filledIn returns the advice to write an object with a value in the place of $, or "".
func filledIn(object, value string) string {
	if object == "" {
		return ""
	}
	return "write " + strings.ReplaceAll(object, "$", value)
}

// objectsAroundText returns how to write objects in the place of a text.
func objectsAroundText() map[string]string {
	return map[string]string{
		"`output`": "`{ as: $ }`", "`export`": "`{ as: $ }`", "`input`": "`{ from: $ }`",
		"`shell`": "`{ command: $ }`", "`run`": "`{ shell: { command: $ } }`", "`container`": "`{ image: $ }`",
		"`script`": "`{ language: js, code: ... }`", "an external resource": "`{ endpoint: $ }`", "`service`": "`{ name: $, host: localhost, port: 50051 }`",
		"a schema": "`{ resource: { endpoint: $ } }`", "a case": "`{ then: $ }`",
		"`for`": "`{ each: item, in: $ }`", "`errors`": "`{ with: { type: $ } }`",
		"`listen`": "`{ to: { one: { with: { type: $ } } } }`", "`to`": "`{ one: { with: { type: $ } } }`", "an event filter": "`{ with: { type: $ } }`",
		"`correlate`": "`{ id: { from: $ } }`", "`basic`": "`{ username: ..., password: $ }`",
		"`on`":   "`{ one: { with: { type: $ } } }`",
		"`emit`": "`{ event: { with: { type: $, source: ... } } }`", "an event to emit": "`{ with: { type: $, source: ... } }`",
		"`catch`": "`catch: {}`, which catches every error, or `{ errors: { with: { type: ... } } }`",
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
		"`jitter`":       "`{ from: PT0S, to: { seconds: 1 } }`",
		"a retry policy": "`{ limit: { attempt: { count: $ } } }`", "`limit`": "`{ attempt: { count: $ } }`", "an error": "`{ type: https://example.com/errors/NAME, status: $ }`", "`attempt`": "`{ count: $ }`",
	}
}

// memberProperties returns the properties of members of objects. If one of them is beside the member, it was probably meant inside.
func memberProperties() map[string][]string {
	return map[string][]string{
		"document": {"dsl", "namespace", "name", "version"},
		"with":     {"type", "status", "method", "endpoint", "headers", "body", "query", "server", "channel", "service", "operationId", "parameters"},
		"error":    {"type", "status", "title", "detail", "instance"},
		"event":    {"with", "type", "source", "data", "subject"},
		"to":       {"one", "any", "all", "until", "with", "type", "source"},
		"one":      {"with", "type", "source", "data", "subject", "correlate"},
		"use":      {"secrets", "functions", "retries", "errors", "authentications", "catalogs", "extensions"},
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

// markPresent marks a property as present in a wrong place or under a wrong name, so that it is not reported as missing too.
func (o *object) markPresent(name string) {
	if o.misspelt == nil {
		o.misspelt = map[string]bool{}
	}
	o.misspelt[name] = true
}

// deeper returns the path of a member in a member, if a property belongs there, and how to write it.
func deeper(member, name string) (path, help string) {
	switch {
	case member == "event" && name != "with":
		return "event.with", "write `event: { with: { type: ..., source: ... } }`"
	case member == "one" && name != "with" && name != "correlate":
		return "one.with", "write `one: { with: { type: ... } }`, or `any:` and `all:` with a list of such filters"
	case member == "one":
		return "one", "write `one: { with: { type: ... } }`, or `any:` and `all:` with a list of such filters"
	case member == "to" && (name == "with" || name == "type" || name == "source"):
		return "to.one.with", "write `to: { one: { with: { type: ... } } }`"
	}
	return "", ""
}

// reportNotNested reports a property that belongs into a member, once for each member.
func (o *object) reportNotNested(key *yaml.Node, member string, allowed []string) {
	if o.misspelt[member] || member == "shell" && o.misspelt["container"] {
		return
	}
	o.markPresent(member)
	if path, help := deeper(member, key.Value); path != "" {
		o.p.add(Diagnostic{
			Code: "SW106", Message: fmt.Sprintf("`%s` belongs to `%s`", key.Value, path), Pointer: o.at.Key(key.Value), Range: o.p.src.RangeOf(key),
			Expected: allowed, Label: fmt.Sprintf("move it into `%s`", path), Help: help,
		})
		return
	}
	help := fmt.Sprintf("write `%s:` and indent its properties below it", member)
	if value := o.value(member); value != nil && source.IsText(value) {
		help = fmt.Sprintf("write `%s: { %s: ... }`", member, key.Value)
	}
	o.p.add(Diagnostic{
		Code: "SW106", Message: fmt.Sprintf("`%s` belongs to `%s`", key.Value, member), Pointer: o.at.Key(key.Value), Range: o.p.src.RangeOf(key),
		Expected: allowed, Label: fmt.Sprintf("move it into `%s`", member), Help: help,
	})
}
