package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/suggest"
)

// checkSecrets: SW601 secrets where they would be kept, SW602 secrets that are not declared.
func checkSecrets(c *checker) {
	for _, s := range c.places {
		if s.property == "authentication" && !delimited.Is(s.text) && holdsSecret(s.at) && s.text != "" {
			c.add(Diagnostic{Code: "SW601", Pointer: s.at, Message: "this secret stands in the document for all to read",
				Help: "declare it in use.secrets and name it: `use: NAME`, or `${ $secrets.NAME.password }`"})
		}
	}
	flow := c.secretFlow()
	c.facts(func(s site, facts Facts) {
		for _, v := range facts.Variables {
			if flow.secret(s, v) {
				if d, kept := flow.kept(s, v); kept {
					d.Code, d.Pointer, d.Range = "SW601", s.at, c.named(s, v, "$")
					c.add(d)
				}
			}
			if v.Name == "secrets" || v.Name == "secret" {
				c.undeclared(s, v)
			}
		}
	})
}

// secretFlow is where secrets go that become the input of a task.
type secretFlow struct {
	sending map[Pointer]bool // tasks whose input goes outside, and not on
	reads   map[Pointer]bool // those of them whose input.from reads a secret
}

func (c *checker) secretFlow() secretFlow {
	f := secretFlow{map[Pointer]bool{}, map[Pointer]bool{}}
	Walk(c.w, func(t Task) bool {
		switch t.(type) {
		case *CallHTTP, *CallOpenAPI, *CallGRPC, *CallAsyncAPI, *CallA2A, *CallMCP, *CallFunction, *RunShell, *RunScript, *RunContainer:
			f.sending[t.Base().Pointer] = true
		}
		return true
	})
	c.facts(func(s site, facts Facts) {
		for _, v := range facts.Variables {
			if at, ok := taskOf(s, "input.from"); ok && f.sending[at] && (v.Name == "secrets" || v.Name == "secret") {
				f.reads[at] = true
			}
		}
	})
	return f
}

// secret reports whether a variable holds a secret at a site.
func (f secretFlow) secret(s site, v Name) bool {
	switch v.Name {
	case "secrets", "secret":
		return true
	case "authorization":
		return len(v.Path) == 0 || v.Path[0] != "scheme"
	case "input": // which a task that sends it does not pass on by itself
		for _, property := range []string{"output.as", "export.as"} {
			if at, ok := taskOf(s, property); ok && f.reads[at] {
				return true
			}
		}
	}
	return false
}

// kept tells what is wrong with a secret at a site, unless it is only sent or tested there.
func (f secretFlow) kept(s site, v Name) (d Diagnostic, kept bool) {
	d.Help = "use secrets where they are sent: in calls and authentication policies"
	at, _ := taskOf(s, "input.from")
	switch {
	case s.property == "emit":
		d.Message, d.Help = fmt.Sprintf("`$%s` in an event, which others read: emitting it fails", v.Name), "leave it out: who needs a secret has it from its own store"
	case inside(s.at, "run", "workflow", "input"):
		d.Message, d.Help = fmt.Sprintf("`$%s` in the input of another run, which others read: starting it fails", v.Name), "declare the secret in use.secrets of that workflow"
	case inside(s.at, "run", "shell", "arguments"), inside(s.at, "run", "script", "arguments"):
		d.Message, d.Help = fmt.Sprintf("`$%s` among the arguments of a process, which everybody on the machine can read", v.Name), "hand it over in `environment` or `stdin`"
	case s.property == "input.from" && f.sending[at]: // it goes where the task sends it
		return d, false
	case slices.Contains([]string{"set", "input.from", "output.as", "export.as", "raise", "for.in"}, s.property):
		d.Message = fmt.Sprintf("`$%s` in `%s` becomes data of the run, which is kept", v.Name, s.property)
	default:
		return d, false
	}
	return d, true
}

// taskOf returns the pointer of the task that a site of a property belongs to; ok is false for any other site.
func taskOf(s site, property string) (task Pointer, ok bool) {
	if s.property != property {
		return "", false
	}
	i := strings.LastIndex(string(s.at), "/"+strings.ReplaceAll(property, ".", "/"))
	if i < 0 {
		return "", false
	}
	return s.at[:i], true
}

// inside reports whether a pointer leads through some keys, one after the other.
func inside(at Pointer, keys ...string) bool {
	tokens := at.Tokens()
	for i := range tokens {
		if i+len(keys) <= len(tokens) && slices.Equal(tokens[i:i+len(keys)], keys) {
			return true
		}
	}
	return false
}

// undeclared: SW602, a secret that use.secrets does not name.
func (c *checker) undeclared(s site, v Name) {
	if len(v.Path) == 0 || contains(c.w.Use.Secrets, v.Path[0]) {
		return
	}
	d := Diagnostic{Code: "SW602", Pointer: s.at, Range: c.named(s, v, "$"), Message: fmt.Sprintf("the secret `%s` is not declared", v.Path[0]),
		Help: "add it to use.secrets"}
	if meant := suggest.Nearest(v.Path[0], c.w.Use.Secrets); meant != "" {
		d.Label = fmt.Sprintf("did you mean `%s`?", meant)
	}
	c.add(d)
}

// holdsSecret reports whether the last part of a pointer names something secret. The endpoints of a policy are paths:
// the one that tokens come from is no token.
func holdsSecret(at Pointer) bool {
	tokens := at.Tokens()
	n := len(tokens)
	if n == 0 || n > 1 && tokens[n-2] == "endpoints" {
		return false
	}
	return slices.Contains([]string{"password", "token", "secret", "assertion"}, strings.ToLower(tokens[n-1]))
}
