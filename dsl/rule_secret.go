package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/suggest"
)

// checkSecrets: SW601 secrets where they would be stored, SW602 secrets that are not declared.
func checkSecrets(c *checker) {
	stored := []string{"set", "output.as", "export.as", "emit", "raise"}
	for _, s := range c.places {
		if s.property == "authentication" && !Delimited(s.text) && holdsSecret(s.at) && s.text != "" {
			c.add(Diagnostic{Code: "SW601", Pointer: s.at, Message: "this secret stands in the document for all to read",
				Help: "declare it in use.secrets and name it: `use: NAME`, or `${ $secrets.NAME.password }`"})
		}
	}
	c.facts(func(s site, facts Facts) {
		for _, v := range facts.Variables {
			if v.Name != "secrets" && v.Name != "secret" {
				continue
			}
			if slices.Contains(stored, s.property) {
				c.add(Diagnostic{Code: "SW601", Pointer: s.at, Range: c.named(s, v, "$"), Message: fmt.Sprintf("`$%s` in `%s` becomes data, which is stored and shown", v.Name, s.property),
					Help: "use secrets where they are sent: in calls and authentication policies"})
			}
			c.undeclared(s, v)
		}
	})
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

// holdsSecret reports whether the last part of a pointer names something secret.
func holdsSecret(at Pointer) bool {
	tokens := at.Tokens()
	return len(tokens) > 0 && slices.Contains([]string{"password", "token", "secret", "assertion"}, strings.ToLower(tokens[len(tokens)-1]))
}
