package dsl

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
)

// emptyCall matches a function that is called with brackets and without arguments, as other languages do it: now().
var emptyCall = lazyregexp.New(`([A-Za-z_][A-Za-z0-9_.]*)(\(\s*\))`)

// emptyCall completes d, which is about a call with empty brackets; m is where emptyCall matches.
func (c *checker) emptyCall(d Diagnostic, e expressionText, m []int) Diagnostic {
	name := e.text[m[2]:m[3]]
	known := contains(c.analyzer.Functions(), name)
	d.Message, d.Range = fmt.Sprintf("jq: a function without arguments has no brackets: write `%s`", name), c.w.Source.Within(e.at, m[4], m[5])
	if known {
		d.Fix = []source.Edit{{Range: d.Range, NewText: ""}}
		return d
	}
	d.Message, d.Range = fmt.Sprintf("jq: there is no function `%s` here", name), c.w.Source.Within(e.at, m[2], m[3])
	d.Help = otherFunctions()[name]
	if i := strings.LastIndexByte(name, '.'); i >= 0 && d.Help == "" {
		d.Help = otherMethod(name[:i], name[i+1:])
	}
	return d
}

// otherMethod returns how to call the equivalent of a method of a value in other languages.
func otherMethod(value, method string) string {
	if value == "now" && method == "format" {
		return "write `now | strftime(\"%Y-%m-%d\")`"
	}
	if function := map[string]string{"keys": "keys", "values": "[.[]]", "entries": "to_entries", "max": "max", "min": "min", "floor": "floor", "round": "round", "isArray": "type == \"array\""}[method]; function != "" {
		return fmt.Sprintf("write `.a | %s`", function)
	}
	if help := otherFunctions()[method]; help != "" {
		return help
	}
	return fmt.Sprintf("jq has no methods: a function gets its input by a pipe, as in `.%s | length`", strings.TrimPrefix(value, "."))
}

// onPipe returns how to write a call whose argument is the input of the function in jq: `.items | length` for length(.items).
func onPipe(text string, f Name) string {
	m := regexp.MustCompile(`\b` + regexp.QuoteMeta(f.Name) + `\(([^()]*)\)`).FindStringSubmatch(text)
	if m == nil || f.Arity != 1 {
		return ""
	}
	if first, second, several := strings.Cut(m[1], ","); several {
		if contains([]string{"round", "floor", "ceil"}, f.Name) {
			return fmt.Sprintf("it takes no digits: write `%s * 100 | %s / 100`", strings.TrimSpace(first), f.Name)
		}
		return fmt.Sprintf("arguments are divided by `;`: `%s(%s; %s)`", f.Name, strings.TrimSpace(first), strings.TrimSpace(second))
	}
	return fmt.Sprintf("the input of a function stands before it: `%s | %s`", strings.TrimSpace(m[1]), f.Name)
}

// otherSign returns help for an expression with a sign that jq does not allow there, or "".
func otherSign(text string) string {
	switch sign := escapedSign().FindString(text); {
	case sign != "":
		return "write `" + html.UnescapeString(sign) + "` in the place of `" + sign + "`"
	case dollarFunction().MatchString(text):
		return "a function has no dollar sign, and its input stands before a pipe: `.items | add`"
	case strings.Contains(text, "@.") && !strings.Contains(text, "[?"):
		return "the input is `.`: write `.name`"
	}
	return ""
}

// otherSyntax returns help for an expression with the syntax of another language, or "".
func (c *checker) otherSyntax(text string) string {
	method := calledMethod().FindStringSubmatch(text)
	switch {
	case otherSign(text) != "":
		return otherSign(text)
	case pairWithArrow().MatchString(text):
		return "a colon stands between a name and its value: `{ a: 1 }`"
	case strings.Contains(text, "=>"):
		return "jq has no functions with `=>`; write `map(.name)` or `map(select(.n > 1))`"
	case oneLineCondition().MatchString(text) && !strings.Contains(text, "then"):
		m := oneLineCondition().FindStringSubmatch(text)
		return fmt.Sprintf("write `if %s then %s else %s end`", m[2], m[1], m[3])
	case method != nil:
		return otherMethod(method[1], method[2])
	case strings.Contains(text, "$.") && !strings.Contains(text, "$.."):
		return "the input is `.`: write `" + strings.TrimSpace(strings.NewReplacer("${", "", "}", "", "$.", ".").Replace(text)) + "`"
	case strings.Contains(text, "fn:"):
		return "a function is called by a task of its own: `call: hello`"
	case membership().MatchString(text) && !comprehension().MatchString(text):
		return "write `.list | index(\"x\") != null`, or `any(.list[]; . == \"x\")`"
	case comparison().MatchString(text) && !negated().MatchString(text):
		return "write `.x == null`"
	case formatted().MatchString(text):
		return "write `\"Hello \\(.name)\"`"
	case strings.Contains(text, "new "):
		return "jq has no objects with methods; the time is `now`, and `now | todate` as text"
	case ternary().MatchString(text):
		return "jq has no `? :`; write `if .a then 1 else 2 end`"
	case strings.Contains(text, "`"):
		return "text stands in double quotes, and an expression within it in `\\( )`: `\"Hello \\(.name)\"`"
	case strings.Contains(text, "??"):
		return "the value to take instead stands after `//`: `.a // 1`"
	case strings.Contains(text, "++"):
		return "write `. + 1`"
	}
	return ""
}

var (
	calledMethod = lazyregexp.New(`((?:\$?[A-Za-z_]\w*)?(?:\.[A-Za-z_]\w*)*)\.([A-Za-z_]\w*)\([^)]`)
	// oneLineCondition matches a condition on one line: .a if .b else .c.
	oneLineCondition = lazyregexp.New(`^\s*(?:\$\{)?\s*([^{}]+?)\s+if\s+([^{}]+?)\s+else\s+([^{}]+?)\s*\}?\s*$`)
	dollarFunction   = lazyregexp.New(`\$[a-z]\w*\([^)]`)

	escapedSign = lazyregexp.New(`&(?:gt|lt|amp|quot|#39|apos);`)

	membership    = lazyregexp.New(`\bin\s+[.$\[]`)
	comprehension = lazyregexp.New(`\bfor\s+\w+\s+in\b`)
	pairWithArrow = lazyregexp.New(`[{,]\s*\w+\s*=>`)
	negated       = lazyregexp.New(`\bis\s+not\b`)
	comparison    = lazyregexp.New(`\bis\s+(?:not\s+)?(?:None|null|nil|True|False)`)
	formatted     = lazyregexp.New(`\bf["']`)
	joinedByComma = lazyregexp.New(`\b(contains|startswith|endswith|test|match|split|join|sub|gsub|inside|ltrimstr|rtrimstr|has|strftime|strptime)\(([^();,"]+|"[^"]*"),\s*("[^"]*"|[^();,"]+)\)`)
)

// commas: SW502, arguments with a comma between them, which makes two values of one argument.
func (c *checker) commas(e expressionText) {
	m := joinedByComma().FindStringSubmatchIndex(e.text)
	if m == nil {
		return
	}
	part := func(i int) string { return strings.TrimSpace(e.text[m[2*i]:m[2*i+1]]) }
	c.addAs(SeverityWarning, Diagnostic{Code: "SW502", Pointer: e.at, Range: c.w.Source.Within(e.at, m[0], m[1]),
		Message: fmt.Sprintf("jq: `%s` gets one argument of two values here: arguments are divided by `;`, and what is looked at stands before a pipe", part(1)),
		Label:   didYouMean(fmt.Sprintf("(%s | %s(%s))", part(2), part(1), part(3)))})
}

// dashedName returns the name with a dash of which the second part was taken for a function at an offset, or "".
func dashedName(text string, offset int) string {
	if offset < 2 || offset >= len(text) || text[offset-1] != '-' {
		return ""
	}
	isPart := func(b byte) bool {
		return b == '-' || b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
	}
	begin, end := offset, offset
	for begin > 0 && isPart(text[begin-1]) {
		begin--
	}
	for end < len(text) && isPart(text[end]) {
		end++
	}
	if begin == offset-1 || begin == 0 || text[begin-1] != '.' {
		return ""
	}
	return text[begin:end]
}

// otherVariables returns the replacements of variables of other tools.
func otherVariables() map[string]string {
	return map[string]string{
		"json": "the input is `.`: write `.name`", "node": "what a task before has put out is `.`; keep it by `export` and read `$context`", "now": "write `now`",
		"today": "write `now | todate`", "env": "a workflow does not see the environment: pass the value as input", "ctx": "write `$context`",
		"data": "the input is `.`, and what was exported is `$context`", "SECRET": "write `$secrets.name`", "SECRETS": "write `$secrets.name`", "CONST": "write the value where it is used, or `export` it once for `$context`", "WORKFLOW": "write `$workflow.id`",
		"vars": "write `$context`, which `export` sets", "execution": "write `$workflow.id`", "this": "the input is `.`", "prev": "what the task before has put out is `.`",
		"ENV": "a workflow does not see the environment: pass the value as input", "event": "the events are in `.`", "items": "write `.items`", "steps": "what the task before has put out is `.`; keep it by `export` and read `$context`",
	}
}

var ternary = lazyregexp.New(`\?[^?/]*[^:]:[^:]`)

// otherFunctions returns the replacements of functions that other languages have and jq lacks.
func otherFunctions() map[string]string {
	const yesHere, noHere = "a condition is an expression: write `'true'`, or leave the condition out", "a condition is an expression: write `'false'`"
	const identity = "jq has no random values; `$workflow.id` is another for each run, and `$task.reference` says which task it is"
	const size, text = "write `... | length`", "write `... | tostring`"
	return map[string]string{
		"steps": "what the task before has put out is `.`; keep it by `export: { as: ... }` and read `$context`", "needs": "what the task before has put out is `.`; keep it by `export: { as: ... }` and read `$context`",
		"results": "what the task before has put out is `.`; keep it by `export: { as: ... }` and read `$context`", "outputs": "what the task before has put out is `.`; keep it by `export: { as: ... }` and read `$context`",
		"msg": "the input is `.`: write `.name`", "flow_input": "write `$workflow.input.name`", "trigger": "write `$workflow.input.name`", "ctx": "write `$context`, `$workflow.id` or `$task.name`", "default": "write `.name // \"default\"`",
		"upcase": "write `... | ascii_upcase`", "downcase": "write `... | ascii_downcase`", "exists": "write `.name != null`", "isEmpty": "write `(.items | length) == 0`", "isempty": "write `(.items | length) == 0`", "typeof": "write `(.a | type) == \"string\"`",
		"github": "write `.` for the input, or `$workflow` for what runs", "inputs": "write `.name`", "env": "a workflow does not see the environment: pass the value as input", "vars": "write `$context`, which `export: { as: ... }` sets",
		"yes": yesHere, "on": yesHere, "Yes": yesHere, "YES": yesHere, "On": yesHere, "ON": yesHere, "no": noHere, "off": noHere, "No": noHere, "NO": noHere, "Off": noHere, "OFF": noHere,
		"True": "write `true`", "False": "write `false`", "None": "write `null`", "undefined": "write `null`", "nil": "write `null`", "NULL": "write `null`", "TRUE": "write `true`", "FALSE": "write `false`",
		"stringify": "write `... | tojson`", "parse": "write `... | fromjson`", "Date.now": "write `now`", "Format": "write `\"Hello \\(.name)\"`", "trimStart": "write `... | ltrim`", "replace": "write `... | gsub(\"a\"; \"b\")`",
		"push": "write `. + [1]`", "slice": "write `.[0:3]`", "find": "write `map(select(.n > 1)) | .[0]`", "forEach": "write a task with `for:`, or `map(...)`", "indexOf": "write `... | index(\"x\")`",
		"startsWith": "write `... | startswith(\"x\")`", "endsWith": "write `... | endswith(\"x\")`", "get": "write `.name // \"default\"`", "append": "write `. + [1]`",
		"_nwise": "write `[range(0; length; 2) as $i | .[$i:$i + 2]]`", "uuid": identity, "uuidv4": identity, "randomUUID": identity, "random": identity, "rand": identity, "States.UUID": identity,
		"size": size, "count": size, "len": size, "strlen": size, "toString": text, "str": text, "string": text,
		"concat": "write `.a + .b`, or `\"\\(.a)\\(.b)\"` for text", "format": "write `\"\\(.a) and \\(.b)\"`",
		"today": "write `now | todate`", "Date": "write `now | todate`", "timestamp": "write `now`", "utcnow": "write `now | todate`",
		"toUpperCase": "write `... | ascii_upcase`", "toLowerCase": "write `... | ascii_downcase`", "upper": "write `... | ascii_upcase`", "lower": "write `... | ascii_downcase`",
		"includes": "write `... | contains(\"x\")`, or `... | index(\"x\")` for an item of a list", "has_key": "write `has(\"name\")`",
		"parseInt": "write `... | tonumber`", "int": "write `... | tonumber`", "number": "write `... | tonumber`",
		"fromJSON": "write `... | fromjson`", "toJSON": "write `... | tojson`", "json": "write `... | tojson`", "substring": "write `.[0:3]`", "filter": "write `map(select(.n > 1))`",
		"trim_space": "write `... | trim`", "sum": "write `... | add`", "coalesce": "write `.a // .b`", "success": "what follows in the list runs only if nothing has failed", "failure": "write `try` and `catch` around the tasks that may fail", "always": "write `try` and `catch` around the tasks that may fail",
	}
}
