package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

var variablePattern = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// variable decodes the name of a variable that expressions see (semantics 1.5).
func (o *object) variable(name, otherwise string) string {
	text := o.textOr(name, otherwise)
	if n := o.value(name); n == nil || text == "" { // absent, or reported
		return otherwise
	}
	variable := strings.TrimPrefix(text, "$")
	switch {
	case !variablePattern().MatchString(variable):
		o.report("SW120", name, fmt.Sprintf("%s is not the name of a variable: letters, digits and _ are allowed", shorten.Quoted(variable)))
		return otherwise
	case slices.Contains(builtInVariables(), variable):
		o.report("SW120", name, fmt.Sprintf("`$%s` is always there and cannot be bound", variable))
		return otherwise
	}
	return variable
}

// builtInVariables are the arguments that every expression has.
func builtInVariables() []string {
	return []string{"context", "input", "output", "secrets", "secret", "authorization", "task", "workflow", "runtime"}
}
