package dsl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// bareExpression matches text that is an expression except that it lacks its delimiters.
var bareExpression = lazyregexp.New(`^\s*(?:\.[A-Za-z_][\w.\[\]"]*|\$(?:context|input|output|secrets|task|workflow|runtime)\b.*)\s*$`)

// jsonPath matches a JSONPath, which other tools use.
var jsonPath = lazyregexp.New(`^\s*\$\.[A-Za-z_][\w.\[\]]*\s*$`)

// checkLookalikes: SW504, text that looks like an expression and is not evaluated.
func checkLookalikes(c *checker) {
	c.computedNames()
	for _, e := range c.texts {
		d := Diagnostic{Code: "SW504", Pointer: e.at}
		switch {
		case e.isExpression() && e.property != propertyCode:
			c.interpolations(e)
		case e.property == propertyCode && !e.isExpression():
			c.expressionInCode(e)
		case e.isExpression() || e.property == propertyEventFilter:
		case templateWithin().MatchString(e.text):
			c.otherTemplate(e)
		case isOtherReference(e):
			c.otherReference(e)
		case strings.Contains(e.text, "${") && endOfExpression(e.text[strings.Index(e.text, "${")+2:]) < 0:
			d.Message, d.Help = "this `${` has no `}` that ends it, so that all of it is text", "end the expression with `}`; keep it if the text is meant literally"
			c.add(c.expressionFor(d, unended(e.text)))
		case strings.Contains(e.text, "${"):
			d.Message = "`${ }` inside text is not evaluated: an expression takes the whole value"
			d.Help = "keep it if the text is meant literally"
			c.add(c.expressionFor(d, interpolated(e.text)))
		case contextPath().MatchString(e.text):
			d.Message, d.Help = fmt.Sprintf("`%s` is text here: expressions are jq in `${ }`", strings.TrimSpace(e.text)), "what runs is described by `$workflow` and `$task`, for example `${ $workflow.id }`"
			c.add(d)
		case jsonPath().MatchString(e.text):
			text := strings.TrimSpace(e.text)
			d.Message = fmt.Sprintf("`%s` is text here: expressions are jq in `${ }`, where the input is `.`", text)
			c.add(c.expressionFor(d, "${ "+strings.TrimPrefix(text, "$")+" }"))
		case environmentVariable().MatchString(e.text):
			d.Message = fmt.Sprintf("`%s` is text here: a workflow does not see the environment", strings.TrimSpace(e.text))
			d.Help = "pass the value as input, declare it as a secret, or read it in `run: shell`"
			c.add(d)
		case !c.w.Evaluate.Loose && (bareExpression().MatchString(e.text) || e.property != propertyEndpoint && c.isBareProgram(e)):
			text := strings.TrimSpace(e.text)
			d.Message = fmt.Sprintf("`%s` is text here: an expression needs `${ }`", text)
			c.add(c.expressionFor(d, "${ "+text+" }"))
		}
	}
}

// expressionFor completes d with the expression that the author probably meant. The edit is not safe: the author may mean the text itself.
func (c *checker) expressionFor(d Diagnostic, meant string) Diagnostic {
	_, n, exact := c.w.Source.find(d.Pointer)
	facts, err := c.analyze(meant)
	unknown := slices.ContainsFunc(facts.Functions, func(f Name) bool { return !f.Known })
	if err != nil || unknown || meant == "" || !exact {
		return d
	}
	d.Label, d.Fix = didYouMean(c.w.Source.Quote(meant)), onlyIf(false, c.w.Source.ReplaceQuoted(n, meant))
	return d
}

// interpolated returns one expression for a text that contains expressions: ${ "Hello \(.name)!" } for `Hello ${ .name }!`. It is empty if a `${` is
// not closed.
func interpolated(text string) string {
	var b strings.Builder
	b.WriteString(`${ "`)
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(insideQuotes(before))
		if !found {
			break
		}
		end := endOfExpression(rest)
		if end < 0 || strings.TrimSpace(rest[:end]) == "" {
			return ""
		}
		b.WriteString(`\(` + strings.TrimSpace(rest[:end]) + `)`)
		text = rest[end+1:]
	}
	b.WriteString(`" }`)
	return b.String()
}

// unended returns the expression for text that begins with `${` and lacks the `}`, or "".
func unended(text string) string {
	if source, begins := strings.CutPrefix(strings.TrimSpace(text), "${"); begins && strings.TrimSpace(source) != "" {
		return "${ " + strings.TrimSpace(source) + " }"
	}
	return ""
}

// insideQuotes escapes text for a string literal of jq.
func insideQuotes(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // encoding a string cannot fail
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// endOfExpression returns the offset of the bracket that ends an expression, or -1.
func endOfExpression(text string) int {
	depth, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
