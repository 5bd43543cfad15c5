package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/suggest"
)

// checkExpressions: SW501 what is no jq, SW502 unknown functions, SW503 variables that are not there.
func checkExpressions(c *checker) {
	for _, s := range c.places {
		if !s.isExpression() {
			continue
		}
		facts, err := c.analyze(s.text)
		if err != nil {
			c.syntax(s, err)
			continue
		}
		for _, f := range facts.Functions {
			if !f.Known {
				c.unknownFunction(s, f)
			}
		}
		for _, v := range facts.Variables {
			c.variable(s, v)
		}
	}
}

func (c *checker) syntax(s site, err error) {
	d := Diagnostic{Code: "SW501", Pointer: s.at, Message: "jq: " + err.Error()}
	if e, ok := err.(*ExpressionError); ok {
		d.Range = c.w.Source.Within(s.at, e.Offset, e.Offset+max(e.Length, 1))
		if e.Length == 0 {
			d.Label = "the expression ends here"
		}
	}
	if m := doubled.FindStringSubmatch(s.text); m != nil {
		d.Message, d.Range = "jq: `${{ }}` is how other tools write expressions; here it is `${ }`", Range{}
		d = c.expressionFor(d, "${ "+m[1]+" }")
	}
	c.add(d)
}

// doubled is an expression as other tools write it: ${{ .x }}.
var doubled = regexp.MustCompile(`^\s*\$\{\{\s*(.*?)\s*\}\}\s*$`)

// named is the place of a name inside an expression.
func (c *checker) named(s site, n Name, prefix string) Range {
	if n.Offset < 0 {
		return c.w.Source.Value(s.at)
	}
	return c.w.Source.Within(s.at, n.Offset, n.Offset+len(prefix+n.Name))
}

func (c *checker) unknownFunction(s site, f Name) {
	d := Diagnostic{Code: "SW502", Pointer: s.at, Range: c.named(s, f, ""), Message: fmt.Sprintf("jq: there is no function `%s` here", f.Name)}
	switch {
	case contains(c.analyzer.Functions(), f.Name):
		d.Message = fmt.Sprintf("jq: there is no `%s/%d`: `%s` takes another number of arguments", f.Name, f.Arity, f.Name)
	case f.Reason != "":
		d.Message = "jq: " + f.Reason
	default:
		if meant := suggest.Nearest(f.Name, c.analyzer.Functions()); meant != "" {
			d.Label = didYouMean(meant)
			if f.Offset >= 0 {
				d.Fix = []Edit{{Range: d.Range, NewText: meant}}
			}
		}
	}
	c.add(d)
}

// bodies are the properties that are evaluated before their task has an output.
func bodies() []string {
	return []string{"set", "call", "run", "emit", "raise", "endpoint", "duration", "for.in", "while", "when"}
}

func (c *checker) variable(s site, v Name) {
	known := with(builtInVariables(), s.vars...)
	switch {
	case v.Name == "ENV" || v.Name == "__loc__":
		c.add(Diagnostic{Code: "SW502", Pointer: s.at, Range: c.named(s, v, "$"), Message: fmt.Sprintf("jq: `$%s` is not available here", v.Name)})
	case v.Name == "output" && (s.property == "if" || s.property == "input.from"):
		c.addAs(SeverityWarning, Diagnostic{Code: "SW503", Pointer: s.at, Range: c.named(s, v, "$"),
			Message: fmt.Sprintf("`$output` is null in `%s`: nothing has run yet", s.property)})
	case v.Name == "output" && slices.Contains(bodies(), s.property):
		c.addAs(SeverityWarning, Diagnostic{Code: "SW503", Pointer: s.at, Range: c.named(s, v, "$"),
			Message: fmt.Sprintf("`$output` is null in `%s`: the task has no output yet", s.property), Help: "what the task before has put out is `.`"})
	case slices.Contains(known, v.Name):
	default:
		d := Diagnostic{Code: "SW503", Pointer: s.at, Range: c.named(s, v, "$"), Message: fmt.Sprintf("`$%s` is not defined here", v.Name)}
		if meant := suggest.Nearest(v.Name, known); meant != "" {
			d.Label = didYouMean("$" + meant)
			if v.Offset >= 0 {
				d.Fix = []Edit{{Range: d.Range, NewText: "$" + meant}}
			}
		}
		d.Help = "variables here: $" + strings.Join(known, " $")
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
	c.facts(func(s site, facts Facts) {
		for _, path := range c.inputPaths(s, facts) {
			if _, has := properties[path]; !has {
				c.add(Diagnostic{Code: "SW505", Pointer: s.at, Message: fmt.Sprintf("the input has no `.%s`: its schema allows no such property", path),
					Help: "properties: " + strings.Join(sortedKeys(properties), ", ")})
			}
		}
	})
}

// inputPaths returns the members of the workflow's raw input that an expression reads.
func (c *checker) inputPaths(s site, facts Facts) []string {
	var read []string
	if c.seesInput(s.at) {
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

// seesInput reports whether the expression at a place reads the workflow's raw input.
func (c *checker) seesInput(at Pointer) bool {
	if strings.HasPrefix(string(at), "/input/from") {
		return true
	}
	if c.w.Input.From != nil || len(c.w.Do) == 0 {
		return false
	}
	first := c.w.Do[0].Base()
	inTask := func(keys ...string) bool {
		p := first.Pointer
		for _, key := range keys {
			p = p.Key(key)
		}
		return strings.HasPrefix(string(at), string(p))
	}
	if inTask("if") || inTask("input", "from") {
		return true
	}
	if first.Input != nil && first.Input.From != nil {
		return false
	}
	switch c.w.Do[0].(type) {
	case *SetTask:
		return inTask("set")
	case *SwitchTask:
		return inTask("switch")
	case *CallHTTP, *CallFunction, *CallOpenAPI, *CallGRPC:
		return inTask("with")
	}
	return false
}
