package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

var (
	// bareStart matches the beginning of text that may be a program without its delimiters.
	bareStart = lazyregexp.New(`^(?:\.[A-Za-z_\[]|\$[A-Za-z_]|[(\[{]|"|if\s|[a-z_][a-z0-9_]*\()`)
	// contextPath matches a path into the running execution, as in AWS Step Functions.
	contextPath = lazyregexp.New(`^\s*\$\$\.[A-Za-z_]`)
	// calledOnPath matches a function that is called with a path of its input: map(.name).
	calledOnPath = lazyregexp.New(`^[a-z_][a-z0-9_]*\(.*\.[A-Za-z_\[].*\)`)
	// environmentVariable matches variables of the environment that people expect everywhere.
	environmentVariable = lazyregexp.New(`^\s*\$\{?(?:HOME|PATH|USER|PWD|HOSTNAME|TMPDIR|SHELL|LANG)\}?\s*$`)
	// templateWithin matches an expression in the notation of other tools, within text: Hello {{ .name }}.
	templateWithin = lazyregexp.New(`\$?\{\{-?\s*([.$][^{}]*?|(?:inputs|steps|workflow|tasks|item|github|env|secrets|needs|matrix|vars|outputs)\.[^{}]*?)\s*-?\}\}`)
	// expressionWithin matches the beginning of an expression within code, where it is not part of the syntax of a shell or a script.
	expressionWithin = lazyregexp.New(`\$\{\s*(\.(?:[A-Za-z_\[][^{}]*)?)\}`)
	// otherTemplates matches programs whose arguments are templates of their own.
	otherTemplates = lazyregexp.New(`docker|podman|kubectl|nerdctl|helm|template|format|jinja|mustache|-o\s*=?go`)
)

// isBareProgram reports whether a text is a program that reads its input or a variable, except that it lacks its delimiters.
func (c *checker) isBareProgram(e expressionText) bool {
	text := strings.TrimSpace(e.text)
	if !bareStart().MatchString(text) {
		return false
	}
	facts, err := c.analyze("${ " + text + " }")
	if err != nil || slices.ContainsFunc(facts.Functions, func(f Name) bool { return !f.Known }) {
		return false
	}
	known := append(builtInVariables(), e.variables...)
	if slices.ContainsFunc(facts.Variables, func(v Name) bool { return !contains(known, v.Name) }) {
		return false
	}
	switch {
	case text[0] == '.':
		return true
	case text[0] == '"':
		return strings.Contains(text, `\(`)
	case text[0] == '$':
		return len(facts.Variables) > 0
	}
	return len(facts.Fields) > 0 || len(facts.Variables) > 0 || calledOnPath().MatchString(text)
}

// expressionInCode reports an expression within a command or a script: it is not evaluated there.
func (c *checker) expressionInCode(e expressionText) {
	d := Diagnostic{Code: "SW504", Pointer: e.at, Help: "pass the value by `arguments` or `environment`, and read it there"}
	m := expressionWithin().FindStringSubmatchIndex(e.text)
	if m != nil {
		inner := strings.TrimSpace(e.text[m[2]:m[3]])
		d.Range, d.Message = c.w.Source.Within(e.at, m[0], m[1]), "`${ }` inside code is not evaluated, and no shell or language has this form"
		if e.task.Traits().Program == "command" {
			d.Help = fmt.Sprintf("pass the value: `arguments: ['${ %s }']`, and write `\"$1\"` for it in the command", inner)
		}
		c.add(d)
		return
	}
	if m := templateWithin().FindStringSubmatchIndex(e.text); m != nil && !otherTemplates().MatchString(e.text) {
		d.Code, d.Range, d.Message = "SW129", c.w.Source.Within(e.at, m[0], m[1]), "`{{ }}` is plain text here, which nothing evaluates"
		c.add(d)
	}
}

// otherTemplate reports expressions of another tool within text.
func (c *checker) otherTemplate(e expressionText) {
	if otherTemplate().MatchString(e.text) { // Parse has reported it
		return
	}
	m := templateWithin().FindStringSubmatchIndex(e.text)
	whole, inner := e.text[m[0]:m[1]], e.text[m[2]:m[3]]
	d := Diagnostic{Code: "SW129", Pointer: e.at, Range: c.w.Source.Within(e.at, m[0], m[1]),
		Message: fmt.Sprintf("`%s` is plain text here, which nothing evaluates", whole), Help: "an expression is jq in `${ }` and takes the whole value, for example `${ \"Hello \\(.name)\" }`"}
	if inner[0] != '.' {
		c.add(d)
		return
	}
	meant := templateWithin().ReplaceAllString(e.text, "$${ $1 }")
	if strings.TrimSpace(e.text) != whole {
		meant = interpolated(meant)
	}
	place := d.Range
	d = c.expressionFor(d, meant)
	d.Range = place
	c.add(d)
}
