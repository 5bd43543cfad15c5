package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/suggest"
)

// checkExpressions: SW501 syntax errors, SW502 unknown functions, SW503 variables that do not exist.
func checkExpressions(c *checker) {
	for _, e := range c.texts {
		if !e.isExpression() || emptyExpression(e.text) { // which Parse has reported
			continue
		}
		facts, err := c.analyze(e.text)
		if err != nil {
			c.syntax(e, err)
			continue
		}
		for _, f := range facts.Functions {
			if !f.Known {
				c.unknownFunction(e, f)
			}
		}
		if !slices.ContainsFunc(facts.Functions, func(f Name) bool { return !f.Known }) {
			c.commas(e)
		}
		for _, v := range facts.Variables {
			c.variable(e, v)
		}
	}
}

func (c *checker) syntax(e expressionText, err error) {
	d := Diagnostic{Code: "SW501", Pointer: e.at, Message: "jq: " + err.Error()}
	if syntax, ok := err.(*ExpressionError); ok {
		d.Range = c.w.Source.Within(e.at, syntax.Offset, syntax.Offset+max(syntax.Length, 1))
		if syntax.Length == 0 {
			d.Label = "the expression ends here"
		}
	}
	if m := doubleBraces().FindStringSubmatch(e.text); m != nil {
		d.Message, d.Range = "jq: `${{ }}` is how other tools write expressions; here it is `${ }`", source.Range{}
		d = c.expressionFor(d, "${ "+m[1]+" }")
	} else if text := strings.TrimSpace(e.text); strings.HasPrefix(text, "${") && !delimited.Is(text) && endOfExpression(text[2:]) < 0 {
		d.Message, d.Label, d.Help, d.Range = "this `${` has no `}` that ends it", "", "end the expression with `}`", source.Range{}
		d = c.expressionFor(d, unended(text))
	} else if m := emptyCall().FindStringSubmatchIndex(e.text); m != nil && strings.Contains(d.Message, `"("`) {
		d = c.emptyCall(d, e, m)
	} else if help := c.otherSyntax(e.text); help != "" {
		d.Help = help
	} else if with, ok := c.repaired(d, e, err); ok {
		d = with
	} else if endsBefore(e.text) {
		d.Help = "a value is one expression from the first `${` to the last `}`"
		if !e.always && e.property != propertyCode {
			d = c.expressionFor(d, interpolated(e.text))
		}
	}
	c.add(shellVariable(d, e))
}

// endsBefore reports whether the bracket of the first `${` is closed before the last `}`.
func endsBefore(text string) bool {
	source, delimited := strings.CutPrefix(strings.TrimSpace(text), "${")
	end := endOfExpression(source)
	return delimited && end >= 0 && end < len(source)-1
}

// startsWithVariable matches code that begins with a variable of the shell, such as ${HOME}, ${CC:-gcc} or ${1}.
var startsWithVariable = lazyregexp.New(`^\s*(\$\{[\w#@*!?][^}]*\})`)

// shellVariable adds help to d if the expression is probably code that begins with a variable of the shell.
func shellVariable(d Diagnostic, e expressionText) Diagnostic {
	if m := startsWithVariable().FindStringSubmatch(e.text); m != nil && e.property == propertyCode {
		d.Help = fmt.Sprintf("text from `${` to `}` is an expression; write a variable of the shell at the beginning in quotes: `\"%s\"`", oneLine(m[1]))
	}
	return d
}

// doubleBraces matches an expression as other tools write it: ${{ .x }}.
var doubleBraces = lazyregexp.New(`^\s*\$\{\{\s*(.*?)\s*\}\}\s*$`)

// named returns the range of a name inside an expression.
func (c *checker) named(e expressionText, n Name, prefix string) source.Range {
	if n.Offset < 0 {
		return c.w.Source.Value(e.at)
	}
	return c.w.Source.Within(e.at, n.Offset, n.Offset+len(prefix+n.Name))
}

func (c *checker) unknownFunction(e expressionText, f Name) {
	d := Diagnostic{Code: "SW502", Pointer: e.at, Range: c.named(e, f, ""), Message: fmt.Sprintf("jq: there is no function `%s` here", f.Name)}
	switch {
	case contains(append(builtInVariables(), e.variables...), f.Name) && f.Arity == 0:
		d.Label, d.Help = didYouMean("$"+f.Name), "a variable begins with a dollar sign"
		if f.Offset >= 0 {
			d.Fix = []source.Edit{{Range: d.Range, NewText: "$" + f.Name}}
		}
	case f.Arity == 0 && c.isTask(f.Name):
		d.Help = fmt.Sprintf("keep what the task has put out by `export: { as: '$context + { %s: . }' }` on it, and read `$context.%s`", oneLine(f.Name), oneLine(f.Name))
	case dashedName(e.text, f.Offset) != "":
		d.Help = "put a name with a dash in quotes: `.\"" + dashedName(e.text, f.Offset) + "\"`"
	case f.Name == "not" && f.Arity > 0:
		d.Message, d.Help = "jq: `not` takes no arguments: it stands behind a pipe", "write `(.a and .b) | not`"
	case contains(c.analyzer.Functions(), f.Name):
		d.Message = fmt.Sprintf("jq: there is no `%s/%d`: `%s` takes another number of arguments", f.Name, f.Arity, f.Name)
		d.Help = onPipe(e.text, f)
	case f.Reason != "":
		d.Message = "jq: " + f.Reason
		d.Help = otherFunctions()[f.Name]
	case otherFunctions()[f.Name] != "":
		d.Help = otherFunctions()[f.Name]
	default:
		if meant := suggest.Nearest(f.Name, c.analyzer.Functions()); meant != "" {
			d.Label = didYouMean(meant)
			if f.Offset >= 0 {
				d.Fix = []source.Edit{{Range: d.Range, NewText: meant}}
			}
		} else if f.Arity == 0 {
			d.Help = bareWord(e.text, f)
		}
	}
	c.add(shellVariable(d, e))
}

// bareWord returns the replacement of a word that is no function: a text, or a field of the input.
func bareWord(text string, f Name) string {
	if f.Offset > 0 && strings.HasSuffix(strings.TrimRight(text[:f.Offset], " "), "=") {
		return fmt.Sprintf("text stands in double quotes: `\"%s\"`; a field of the input begins with a dot: `.%s`", oneLine(f.Name), oneLine(f.Name))
	}
	return fmt.Sprintf("a field of the input begins with a dot: `.%s`; text stands in double quotes", oneLine(f.Name))
}

// isTask reports whether a task of the document has a name.
func (c *checker) isTask(name string) (found bool) {
	Walk(c.w, func(t Task) bool {
		found = found || t.Base().Name == name
		return true
	})
	return found
}

func (c *checker) variable(e expressionText, v Name) {
	known := append(builtInVariables(), e.variables...)
	switch {
	case v.Name == "ENV" || v.Name == "__loc__":
		c.add(Diagnostic{Code: "SW502", Pointer: e.at, Range: c.named(e, v, "$"), Message: fmt.Sprintf("jq: `$%s` is not available here", v.Name),
			Help: otherVariables()[v.Name]})
	case v.Name == "output" && (e.property == propertyIf || e.property == propertyInputFrom):
		c.addAs(SeverityWarning, Diagnostic{Code: "SW503", Pointer: e.at, Range: c.named(e, v, "$"),
			Message: fmt.Sprintf("`$output` is null in `%s`: nothing has run yet", e.property)})
	case v.Name == "output" && slices.Contains(bodyProperties(), e.property):
		c.addAs(SeverityWarning, Diagnostic{Code: "SW503", Pointer: e.at, Range: c.named(e, v, "$"),
			Message: fmt.Sprintf("`$output` is null in `%s`: the task has no output yet", e.property), Help: "what the task before has put out is `.`"})
	case slices.Contains(known, v.Name):
	default:
		d := Diagnostic{Code: "SW503", Pointer: e.at, Range: c.named(e, v, "$"), Message: fmt.Sprintf("`$%s` is not defined here", v.Name)}
		if meant := suggest.Nearest(v.Name, known); meant != "" {
			d.Label = didYouMean("$" + meant)
			if v.Offset >= 0 {
				d.Fix = []source.Edit{{Range: d.Range, NewText: "$" + meant}}
			}
		}
		d.Help = "variables here: $" + strings.Join(known, " $")
		if help := otherVariables()[v.Name]; help != "" {
			d.Label, d.Fix, d.Help = "", nil, help
		}
		c.add(d)
	}
}

// checkInputFields: SW505, fields of the workflow's input that its schema rules out.
func checkInputFields(c *checker) {
	in := c.w.Input
	if in == nil || in.Schema == nil {
		return
	}
	schema, ok := in.Schema.Document.(map[string]any)
	if !ok || schema["additionalProperties"] != false {
		return
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok || schema["patternProperties"] != nil {
		return
	}
	c.facts(func(e expressionText, facts Facts) {
		for _, path := range c.inputPaths(e, facts) {
			if _, has := properties[path]; !has {
				c.add(Diagnostic{Code: "SW505", Pointer: e.at, Message: fmt.Sprintf("the input has no `.%s`: its schema allows no such property", path),
					Help: "properties: " + strings.Join(sortedKeys(properties), ", ")})
			}
		}
	})
}

// inputPaths returns the members of the workflow's raw input that an expression reads.
func (c *checker) inputPaths(e expressionText, facts Facts) []string {
	var read []string
	if c.seesInput(e) {
		for _, path := range facts.Fields {
			read = append(read, path[0])
		}
	}
	for _, v := range facts.Variables {
		if v.Name == "workflow" && len(v.Path) > 1 && v.Path[0] == "input" {
			read = append(read, v.Path[1])
		}
	}
	return read
}

// seesInput reports whether an expression reads the workflow's raw input.
func (c *checker) seesInput(e expressionText) bool {
	if e.task == nil {
		return e.property == propertyInputFrom
	}
	if c.w.Input.From.Data != nil || len(c.w.Do) == 0 || e.task != c.w.Do[0] {
		return false
	}
	if e.property == propertyIf || e.property == propertyInputFrom {
		return true
	}
	transformed := e.task.Base().Input != nil && e.task.Base().Input.From.Data != nil
	return !transformed && slices.Contains(inputProperties(), e.property)
}
