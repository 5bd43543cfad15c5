package tasks

import (
	"regexp"
	"strings"

	stduritemplate "github.com/std-uritemplate/std-uritemplate/go/v2"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// uri is a compiled endpoint: an expression, or a template of RFC 6570 whose variables are the top-level properties
// of the task's input (semantics 11.7).
type uri struct {
	expression *expr.Template
	template   string
	variables  []string
}

var templateExpression = regexp.MustCompile(`\{([^{}]*)\}`)

func compileURI(b *interpreter.Builder, e *dsl.Endpoint) *uri {
	if expr.Delimited(e.URI) {
		return &uri{expression: b.Text(e.Pointer, e.URI)}
	}
	u, err := parseTemplate(e.URI)
	if err != nil {
		b.Report("SW126", e.Pointer, "this is no URI template: "+err.Error())
	}
	return u
}

// parseTemplate reads a URI template.
func parseTemplate(text string) (*uri, error) {
	u := &uri{template: text}
	for _, m := range templateExpression.FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(strings.TrimLeft(m[1], "+#./;?&"), ",") {
			name, _, _ = strings.Cut(name, ":")
			u.variables = append(u.variables, strings.TrimSuffix(name, "*"))
		}
	}
	_, err := stduritemplate.Expand(text, stduritemplate.Substitutions{})
	return u, err
}

func (u *uri) expand(s *interpreter.Scope, input any) (string, *errors.Error) {
	if u.expression != nil {
		return evalText(s, u.expression, "the endpoint")
	}
	text, err := u.fill(input)
	if err == nil && strings.TrimSpace(text) == "" {
		return "", errors.Expressionf("the endpoint must not be empty: nothing is left of %s", quote(u.template))
	}
	return text, err
}

// fill expands the template with the properties of input.
func (u *uri) fill(input any) (string, *errors.Error) {
	if len(u.variables) == 0 {
		return u.template, nil
	}
	values, err := u.substitutions(input)
	if err != nil {
		return "", err
	}
	expanded, failed := stduritemplate.Expand(u.template, values)
	if failed != nil {
		return "", errors.Expressionf("the URI template %q cannot be expanded: %s", u.template, failed)
	}
	return expanded, nil
}

// substitutions returns the variables as text; a missing one is left out.
func (u *uri) substitutions(input any) (stduritemplate.Substitutions, *errors.Error) {
	properties, _ := input.(map[string]any) // other input has no properties
	values := stduritemplate.Substitutions{}
	for _, name := range u.variables {
		switch v := properties[name].(type) {
		case nil:
		case []any, map[string]any:
			return nil, errors.Expressionf("the variable %q of the URI template %q is %s; a scalar is needed", name, u.template, kindOf(v))
		default:
			values[name] = stringify(v)
		}
	}
	return values, nil
}
