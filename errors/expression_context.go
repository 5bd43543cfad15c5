package errors

import (
	"fmt"
	"strings"
)

// ExpressionContext is the expression that caused an error. It is the member "expression" of the error. The detail, which catches may compare, does
// not contain it.
type ExpressionContext struct {
	Text      string         // as the author wrote it
	Pointer   string         // place in the document
	Source    string         // the same as file:line:column
	Input     string         // the beginning of its input as JSON
	Variables map[string]any // the variables that it uses, each as the beginning of its value as JSON; may be empty
}

const memberExpression = "expression"

// WithExpression returns a copy of e with the expression that caused it.
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

// ExpressionContext returns the expression that caused e, if e contains one.
func (e *Error) ExpressionContext() (c ExpressionContext, ok bool) {
	member, _ := e.Extensions[memberExpression].(map[string]any) // an author may raise any other value under this name
	for name, text := range map[string]*string{"text": &c.Text, "given": &c.Input, "pointer": &c.Pointer, "source": &c.Source} {
		*text, _ = member[name].(string) // it may be unknown
	}
	c.Variables, _ = member["variables"].(map[string]any) // it may be missing
	return c, c.Text != "" && c.Input != ""
}

// String formats the expression for people on one line.
func (c ExpressionContext) String() string {
	return fmt.Sprintf("%s (%s), given %s", strings.Join(strings.Fields(c.Text), " "), c.Place(), c.Input)
}

// Place returns the place of the expression, as far as it is known.
func (c ExpressionContext) Place() string {
	if c.Source != "" && c.Pointer != "" {
		return c.Source + ", " + c.Pointer
	}
	return c.Source + c.Pointer
}
