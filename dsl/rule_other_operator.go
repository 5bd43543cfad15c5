package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// otherOperator is a piece of syntax that other languages have and jq lacks.
type otherOperator struct {
	pattern string
	instead string // its replacement; empty if that depends on the meaning
	help    string
}

// otherOperators are tried in order.
func otherOperators() []otherOperator {
	const joined = "texts are joined by `+`"
	return []otherOperator{
		{`^\s*(\$\{)?\s*=\s*([^=])`, `$1 $2`, "an expression begins without `=`"},
		{`^\s*(\$\{)?\s*=\s*[^=]`, "", "an expression begins without `=`, and a field of the input with a dot: `.amount > 100`"},
		{`@[a-zA-Z]\w*\(`, "", "jq has no functions with `@` and brackets: write `.x == 1` to compare, and `.name` for a field of the input"},
		{`\belse\s+if\b|\belseif\b|\belsif\b`, "elif", "write `elif`"},
		{`([A-Za-z_]\w*|\])\.(\d+)`, `$1[$2]`, "the number of an item stands in brackets: `.items[0]`"},
		{`\[\*\]`, `[]`, "`[]` stands for all items"},
		{`\[\?\s*\(?\s*@`, "", "write `.items[] | select(.n > 1)`"},
		{`\$\.\.(\w+)`, `[.. | objects | .$1 // empty]`, "`..` goes through all values: `[.. | objects | .name // empty]`"},
		{`(\.[A-Za-z_]\w*)\.\.(\w+)`, `$1.$2`, "write one dot"},
		{`^\s*(?:\$\{)?\s*\d+\.\.\d+`, "", "write `[range(1; 11)]` for the numbers from 1 to 10"},
		{`\b(?i:contains|startswith|endswith)\s+"`, "", "a function stands behind a pipe, and its argument in brackets: `.name | contains(\"x\")`"},
		{`<>`, `!=`, "write `!=`"},
		{`(\S+)\s*(?:\*\*|\^)\s*([\w.]+)`, `pow($1; $2)`, "write `pow(.a; 2)`"},
		{`\{\s*\.\.\.\s*([^,}]+),`, `$1 + {`, "objects are joined by `+`: `$context + { a: 1 }`"},
		{`([{,]\s*)([A-Za-z_]\w*(?:-\w+)+)\s*:`, `$1"$2":`, "a name with a dash stands in quotes"},
		{`\b(?:let|var|const)\s+\w+\s*=`, "", "a value gets a name by `as`: `.a as $y | $y + 1`"},
		{`\bas\s+(\$\w+)\s+([^|\s,?])`, `as $1 | $2`, "a pipe stands between the name and what follows"},
		{`\bfor\s+\w+\s+in\b`, "", "write `[.items[] | .name]`"},
		{`\bis\s+(?:not\s+(?:null|None|nil)|defined)\b`, `!= null`, "write `.x != null`"},
		{`\bAND\b`, `and`, "write `and` in small letters"},
		{`\bOR\b`, `or`, "write `or` in small letters"},
		{`\b(?:AND|OR)\b`, "", "write `and` and `or` in small letters"},
		{`;\s*(\}?)\s*$`, ` $1`, "an expression ends without `;`"},
		{`\s(?:~|&)\s`, ` + `, joined},
		{`"\s*\.\.\s*"`, `" + "`, joined},
		{`([\w.$]+)\s*(<=?|>=?)\s*([\w.$]+)\s*(<=?|>=?)\s*([\w.$]+)`, `$1 $2 $3 and $3 $4 $5`, "two comparisons are joined by `and`"},
		{`'([^'"]*)'`, `"$1"`, ""},
	}
}

// repaired completes d, which is about a syntax error, if the expression has an operator of another language, or lacks one of jq.
func (c *checker) repaired(d Diagnostic, e expressionText, err error) (Diagnostic, bool) {
	for _, operator := range otherOperators() {
		pattern := regexp.MustCompile(operator.pattern)
		if !pattern.MatchString(e.text) {
			continue
		}
		if operator.instead == "" {
			d.Help = operator.help
			return d, true
		}
		if with := c.repairedBy(d, pattern.ReplaceAllString(e.text, operator.instead)); with.Label != d.Label {
			with.Help = operator.help
			return with, true
		}
	}
	syntax, ok := err.(*ExpressionError)
	switch {
	case !ok:
	case strings.Count(strings.ReplaceAll(e.text, `\"`, ""), `"`)%2 == 1:
		d.Help = "a text ends with a double quote"
		return d, true
	case strings.Contains(d.Message, `missing "end" for "if"`):
		text, delimited := strings.CutSuffix(strings.TrimSpace(e.text), "}")
		text = strings.TrimSpace(text) + " end"
		if delimited && !e.always || strings.HasPrefix(text, "${") {
			text += " }"
		}
		d = c.repairedBy(d, text)
		d.Help = "an `if` has an `end`: `if .a then 1 else 2 end`"
		return d, true
	case syntax.Length > 0 && contains(c.analyzer.Functions(), e.text[syntax.Offset:syntax.Offset+syntax.Length]):
		if with := c.repairedBy(d, e.text[:syntax.Offset]+"| "+e.text[syntax.Offset:]); with.Label != d.Label {
			with.Help = "a pipe stands before a function: `.items | length`"
			return with, true
		}
	}
	return d, false
}

// repairedBy completes d with a text that was probably meant, if it is an expression.
func (c *checker) repairedBy(d Diagnostic, meant string) Diagnostic {
	place := d.Range
	d = c.expressionFor(d, strings.TrimSpace(meant))
	d.Range = place
	return d
}

// withinText matches a text of jq that contains an expression in the notation of other languages: "Hello ${.name}".
var withinText = lazyregexp.New(`"[^"\\]*?([$#]\{\s*([.$][A-Za-z_][^{}"]*?)\s*\})[^"\\]*"`)

// interpolations: SW504, an expression within a text of jq that is not in \( ).
func (c *checker) interpolations(e expressionText) {
	m := withinText().FindStringSubmatchIndex(e.text)
	if m == nil {
		return
	}
	d := Diagnostic{Code: "SW504", Pointer: e.at, Range: c.w.Source.Within(e.at, m[2], m[3]), Message: "`" + e.text[m[2]:m[3]] + "` is a part of the text here",
		Help: "an expression within a text of jq stands in `\\( )`"}
	c.add(c.repairedBy(d, e.text[:m[2]]+`\(`+e.text[m[4]:m[5]]+`)`+e.text[m[3]:]))
}

// otherReference matches text that is a whole reference or template of another tool, and cannot be anything else.
var otherReference = lazyregexp.New(`^\s*(?:\$\((?:params|tasks|context|workspaces|steps|inputs|outputs|variables)\.[\w.\[\]'-]+\)` +
	`|@\{?(?:triggerBody|triggerOutputs|body|variables|outputs|parameters|actions|items?|concat|utcNow|guid)\(.*` +
	`|\{\{-?\s*[A-Za-z_][\w.]*(?:\(.*\)|\s*\|.*)?\s*-?\}\}` +
	`|[#@%]\{\s*[A-Za-z_][\w.\[\]'" ()<>=!+*/&|-]*\s*\}|\{%-?\s.*\s-?%\}` +
	`|msg\.(?:payload|topic|req|headers)[\w.\[\]]*` +
	`|=\s*[a-z_][\w.]*(?:\s*[-+*/]\s*[\w.]+)*)\s*$`)

// isOtherReference reports whether a value that is kept is a reference of another tool. A value that is sent to another system may be a template of
// that system.
func isOtherReference(e expressionText) bool {
	return slices.Contains(keptProperties(), e.property) && otherReference().MatchString(e.text)
}

// otherReference: SW129, a value that is a reference of another tool.
func (c *checker) otherReference(e expressionText) {
	c.add(Diagnostic{Code: "SW129", Pointer: e.at, Message: fmt.Sprintf("`%s` is plain text here, which nothing evaluates", strings.TrimSpace(e.text)),
		Help: "an expression is jq in `${ }`, and the input is `.`: `'${ .name }'`"})
}

// computedNames: SW504, an expression in the place of a name of an object, which is not evaluated there.
func (c *checker) computedNames() {
	w := &walker{}
	w.onValue = func(_ property, v Value) {
		for _, at := range computedNames(v.Pointer, v.Data) {
			c.add(Diagnostic{Code: "SW504", Pointer: at, Range: c.w.Source.Key(at), Message: "the name of a member is not evaluated",
				Help: "make the object by one expression: `'${ { (.name): 1 } }'`"})
		}
	}
	w.workflow(c.w, nil)
}

// computedNames returns the members of data whose names are expressions.
func computedNames(at Pointer, data any) (all []Pointer) {
	switch data := data.(type) {
	case map[string]any:
		for _, name := range sortedKeys(data) {
			if startsAsExpression().MatchString(name) {
				all = append(all, at.Key(name))
			}
			all = append(all, computedNames(at.Key(name), data[name])...)
		}
	case []any:
		for i, item := range data {
			all = append(all, computedNames(at.Index(i), item)...)
		}
	}
	return all
}

// startsAsExpression matches text that is one expression.
var startsAsExpression = lazyregexp.New(`^\s*\$\{\s*[.$][^{}]*\}\s*$`)

// membersElsewhere returns the members of errors in other languages, with the corresponding members here.
func membersElsewhere() map[string]string {
	return map[string]string{"message": "detail", "statusCode": "status"}
}

// describedMembers returns the members of the variables that describe a run.
func describedMembers() map[string][]string {
	return map[string][]string{"workflow": {"id", "definition", "input", "startedAt", "deadline", "timeouts"}}
}

// checkMembers: SW508, members that the variables for the workflow and for errors do not have.
func checkMembers(c *checker) {
	caught := map[string]bool{}
	Walk(c.w, func(t Task) bool {
		if try, ok := t.(*TryTask); ok {
			caught[try.Catch.As] = true
		}
		return true
	})
	c.facts(func(e expressionText, facts Facts) {
		for _, v := range facts.Variables {
			if len(v.Path) == 0 {
				continue
			}
			member, known := v.Path[0], describedMembers()[v.Name]
			d := Diagnostic{Code: "SW508", Pointer: e.at, Range: c.named(e, v, "$"), Message: "`$" + v.Name + "` has no `." + member + "`"}
			switch meant := membersElsewhere()[member]; {
			case known != nil && !contains(known, member):
				d.Help = "it has " + strings.Join(known, ", ")
				if contains([]string{"name", "namespace", "version"}, member) {
					d.Label = didYouMean("$workflow.definition.document." + member)
				} else if member == "inputs" {
					d.Label = didYouMean("$workflow.input")
				}
				c.add(d)
			case known == nil && meant != "" && caught[v.Name] && !contains(builtInVariables(), v.Name) && slices.Contains(e.variables, v.Name):
				d.Label, d.Help = didYouMean("$"+v.Name+"."+meant), "an error has type, status, title, detail and instance"
				c.add(d)
			}
		}
	})
}
