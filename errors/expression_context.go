package errors

import (
	"fmt"
	"strings"
)

// ExpressionContext is the expression that an error comes from. It stands in the error as the member expression, beside the detail,
// which catches may compare.
type ExpressionContext struct {
	Text      string         // as it is written
	Pointer   string         // where it stands in the document
	Source    string         // the same as file:line:column
	Input     string         // its input as JSON, cut
	Variables map[string]any // the values that it used by name, each as JSON, cut; may be empty
}

const memberExpression = "expression"

// WithExpression returns a copy of e that tells its expression.
func (e *Error) WithExpression(c ExpressionContext) *Error {
	member := map[string]any{"text": c.Text, "given": c.Input}
	for name, text := range map[string]string{"pointer": c.Pointer, "source": c.Source} {
		if text != "" {
			member[name] = text
		}
	}
	if len(c.Variables) > 0 {
		member["variables"] = c.Variables
	}
	return e.With(memberExpression, member)
}

// ExpressionContext returns the expression that e tells, if it does.
func (e *Error) ExpressionContext() (c ExpressionContext, ok bool) {
	member, _ := e.Extensions[memberExpression].(map[string]any) // what else it is, is the author's own
	for name, text := range map[string]*string{"text": &c.Text, "given": &c.Input, "pointer": &c.Pointer, "source": &c.Source} {
		*text, _ = member[name].(string) // it may be unknown
	}
	c.Variables, _ = member["variables"].(map[string]any) // there may be none
	return c, c.Text != "" && c.Input != ""
}

// String tells the expression on one line.
func (c ExpressionContext) String() string {
	return fmt.Sprintf("%s (%s), given %s", strings.Join(strings.Fields(c.Text), " "), c.Place(), c.Input)
}

// Place tells where the expression stands, as far as that is known.
func (c ExpressionContext) Place() string {
	if c.Source != "" && c.Pointer != "" {
		return c.Source + ", " + c.Pointer
	}
	return c.Source + c.Pointer
}
