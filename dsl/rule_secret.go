package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/suggest"
)

// checkSecrets: SW601 secrets that would be stored, SW602 secrets that are not declared.
func checkSecrets(c *checker) {
	for _, e := range c.texts {
		if e.property == propertyAuthentication && !delimited.Is(e.text) && holdsSecret(e.at) && e.text != "" {
			c.add(Diagnostic{Code: "SW601", Pointer: e.at, Message: "this secret stands in the document for all to read",
				Help: "declare it in use.secrets and name it: `use: NAME`, or `${ $secrets.NAME.password }`"})
		}
	}
	flow := c.secretFlow()
	c.facts(func(e expressionText, facts Facts) {
		for _, v := range facts.Variables {
			if flow.secret(e, v) {
				if d, kept := e.kept(v); kept {
					d.Code, d.Pointer, d.Range = "SW601", e.at, c.named(e, v, "$")
					c.add(d)
				}
			}
			if isSecrets(v) {
				c.undeclared(e, v)
			}
		}
	})
}

// secretFlow contains the tasks into whose input a secret flows.
type secretFlow map[Task]bool // tasks that send their input, and whose input.from reads a secret

func (c *checker) secretFlow() secretFlow {
	f := secretFlow{}
	c.facts(func(e expressionText, facts Facts) {
		for _, v := range facts.Variables {
			if isSecrets(v) && e.property == propertyInputFrom && e.isSent() {
				f[e.task] = true
			}
		}
	})
	return f
}

// isSent reports whether an expression belongs to a task that sends its input and does not make it its output.
func (e expressionText) isSent() bool { return e.task != nil && e.task.Traits().SendsInput }

// isSecrets reports whether a variable contains the secrets of a run.
func isSecrets(v Name) bool { return v.Name == "secrets" || v.Name == "secret" }

// secret reports whether a variable contains a secret in an expression.
func (f secretFlow) secret(e expressionText, v Name) bool {
	switch v.Name {
	case "secrets", "secret":
		return true
	case "authorization":
		return len(v.Path) == 0 || v.Path[0] != "scheme"
	case "input": // a task that sends its input does not make it its output
		return f[e.task] && (e.property == propertyOutputAs || e.property == propertyExportAs)
	}
	return false
}

// kept returns the diagnostic for a secret in an expression; kept is false if the expression only sends or tests it.
func (e expressionText) kept(v Name) (d Diagnostic, kept bool) {
	d.Help = "use secrets where they are sent: in calls and authentication policies"
	switch {
	case e.property == propertyEmit:
		d.Message, d.Help = fmt.Sprintf("`$%s` in an event, which others read: emitting it fails", v.Name), "leave it out: whoever needs the secret gets it from a store of its own"
	case e.property == propertyRunInput:
		d.Message, d.Help = fmt.Sprintf("`$%s` in the input of another run, which others read: starting it fails", v.Name), "declare the secret in use.secrets of that workflow"
	case e.property == propertyRunArguments:
		d.Message, d.Help = fmt.Sprintf("`$%s` among the arguments of a process, which everybody on the machine can read", v.Name), "pass it in `environment` or `stdin`"
	case e.property == propertyInputFrom && e.isSent(): // the task only sends it
		return d, false
	case slices.Contains(keptProperties(), e.property):
		d.Message = fmt.Sprintf("`$%s` in `%s` becomes data of the run, which is kept", v.Name, e.property)
	default:
		return d, false
	}
	return d, true
}

// undeclared: SW602, a secret that use.secrets does not name.
func (c *checker) undeclared(e expressionText, v Name) {
	if len(v.Path) == 0 || contains(c.w.Use.Secrets, v.Path[0]) {
		return
	}
	d := Diagnostic{Code: "SW602", Pointer: e.at, Range: c.named(e, v, "$"), Message: fmt.Sprintf("the secret `%s` is not declared", v.Path[0]),
		Help: "add it to use.secrets"}
	if meant := suggest.Nearest(v.Path[0], c.w.Use.Secrets); meant != "" {
		d.Label = fmt.Sprintf("did you mean `%s`?", meant)
	}
	c.add(d)
}

// holdsSecret reports whether the last part of a pointer names a secret. The token endpoint of a policy is not secret: it is a path.
func holdsSecret(at Pointer) bool {
	tokens := at.Tokens()
	n := len(tokens)
	if n == 0 || n > 1 && tokens[n-2] == "endpoints" {
		return false
	}
	return slices.Contains([]string{"password", "token", "secret", "assertion"}, strings.ToLower(tokens[n-1]))
}
