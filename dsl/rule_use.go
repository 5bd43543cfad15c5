package dsl

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/suggest"
)

// references returns every place that names a definition under use.
func (c *checker) references() (all []Reference) {
	w := &walker{onReference: func(r Reference) { all = append(all, r) }}
	w.workflow(c.w, nil)
	return all
}

// defined returns the names under use, by section.
func (c *checker) defined() map[string][]string {
	u := c.w.Use
	return map[string][]string{
		"authentications": sortedKeys(u.Authentications), "catalogs": sortedKeys(u.Catalogs), "errors": sortedKeys(u.Errors),
		"functions": sortedKeys(u.Functions), "retries": sortedKeys(u.Retries), "secrets": u.Secrets, "timeouts": sortedKeys(u.Timeouts),
	}
}

// checkReferences: SW203, names that are not defined under use.
func checkReferences(c *checker) {
	defined := c.defined()
	for _, r := range c.references() {
		if contains(defined[r.Section], r.Name) {
			continue
		}
		d := r.Undefined()
		switch r.Section {
		case "catalogs":
			d = c.catalog(d, r.Name, defined[r.Section])
		case "functions":
			d = c.function(d, defined[r.Section])
		default:
			d = c.withSuggestion(d, defined[r.Section])
		}
		if r.Section == "timeouts" {
			if duration, ok := c.w.Source.durationForName(d, r.Name); ok {
				c.add(duration)
				continue
			}
		}
		d.Help = c.howToDefine(r, defined[r.Section])
		c.add(d)
	}
}

// howToDefine returns the help for a name that is not defined in a section of use.
func (c *checker) howToDefine(r Reference, defined []string) string {
	switch other := calledElsewhere(r); {
	case other != "":
		return other
	case len(defined) > 0:
		return "defined: " + strings.Join(defined, ", ")
	case r.Section == "errors" && strings.ContainsFunc(r.Name, unicode.IsSpace): // not a name, but text for people
		return fmt.Sprintf("write the error here: `error: { type: ..., status: 500, title: %s }`", c.w.Source.Quote(r.Name))
	case r.Section == "functions" && otherProtocols()[r.Name] != "": // named in the label
		return ""
	}
	return fmt.Sprintf("define it under use.%s", r.Section)
}

// function completes d, which is about a function that is not defined: it may be a misspelt protocol too, but surely only if the call has the
// arguments of the protocol.
func (c *checker) function(d Diagnostic, defined []string) Diagnostic {
	name, _ := c.w.Source.Data(d.Pointer).(string)
	if meant := otherProtocols()[name]; meant != "" {
		d.Label, d.Fix = didYouMean(meant), onlyIf(false, c.replace(d.Pointer, meant))
		return d
	}
	d = c.withSuggestion(d, slices.Concat(defined, CallProtocols()))
	if len(d.Fix) == 1 && slices.Contains(CallProtocols(), d.Fix[0].NewText) {
		d.Fix = onlyIf(c.w.Source.couldCall(d.Fix[0].NewText, Pointer(strings.TrimSuffix(string(d.Pointer), "/call"))), d.Fix)
	}
	return d
}

// calledElsewhere returns the replacement of a call of other tools, or "".
func calledElsewhere(r Reference) string {
	switch name := strings.ToLower(r.Name); {
	case r.Section != "functions":
		return ""
	case contains([]string{"get", "post", "put", "patch", "delete", "http.get", "http.post", "http.put", "http.patch", "http.delete"}, name):
		return fmt.Sprintf("write `call: http` and `with: { method: %s, endpoint: https://... }`", strings.TrimPrefix(name, "http."))
	case contains([]string{"sys.sleep", "sleep", "delay", "wait"}, name):
		return "write `wait: { seconds: 5 }`"
	case contains([]string{"shell", "script", "container", "workflow"}, name):
		return fmt.Sprintf("write `run: { %s: ... }` in the place of `call`", name)
	case contains([]string{"bash", "sh", "command", "exec"}, name):
		return "write `run: { shell: { command: ... } }` in the place of `call`"
	case name == "graphql":
		return "a query of GraphQL is a POST: write `call: http` and `with: { method: post, endpoint: https://..., body: { query: ... } }`"
	}
	return ""
}

// otherProtocols returns the calls that other names of a protocol probably mean.
func otherProtocols() map[string]string {
	return map[string]string{
		"continueAsNew": "continue-as-new:1.0.0@default", "continue_as_new": "continue-as-new:1.0.0@default", "ContinueAsNew": "continue-as-new:1.0.0@default",
		"executeActivity": "activity:1.0.0@default", "rest": "http", "REST": "http", "https": "http", "HTTP": "http", "request": "http", "web": "http",
		"rpc": "grpc", "kafka": "asyncapi", "mqtt": "asyncapi", "amqp": "asyncapi", "nats": "asyncapi", "tool": "mcp", "agent": "a2a", "swagger": "openapi",
	}
}

// catalog completes d, which is about the catalog in the name of a function: name:version@catalog.
func (c *checker) catalog(d Diagnostic, name string, candidates []string) Diagnostic {
	text, _ := c.w.Source.Data(d.Pointer).(string)
	i := strings.LastIndexByte(text, '@') + 1
	d.Range = c.w.Source.Within(d.Pointer, i, len(text))
	if meant := suggest.Nearest(name, candidates); meant != "" {
		d.Label, d.Fix = didYouMean(meant), onlyIf(suggest.Name(name, candidates) == meant, []source.Edit{{Range: d.Range, NewText: meant, Safe: true}})
	}
	return d
}

func contains(list []string, name string) bool {
	for _, one := range list {
		if one == name {
			return true
		}
	}
	return false
}

// checkUnused: SW205, definitions under use that nothing names.
func checkUnused(c *checker) {
	used, defined := map[string]bool{}, c.defined()
	for _, r := range c.references() {
		used[r.Section+"/"+r.Name] = true
		used[r.Section+"/"+suggest.Nearest(r.Name, defined[r.Section])] = true // a misspelt name is reported once, not as an unused definition too
	}
	c.unusedSecrets(used)
	for _, section := range []string{"authentications", "catalogs", "errors", "functions", "retries", "timeouts"} {
		for _, name := range defined[section] {
			if at := Pointer("/use").Key(section).Key(name); !used[section+"/"+name] {
				c.add(Diagnostic{Code: "SW205", Pointer: at, Range: c.w.Source.Key(at),
					Message: fmt.Sprintf("`%s` is defined and not used", name)})
			}
		}
	}
}

// unusedSecrets reports the secrets that neither a policy nor an expression names.
func (c *checker) unusedSecrets(used map[string]bool) {
	c.facts(func(_ expressionText, facts Facts) {
		for _, f := range facts.Functions { // it lacks its dollar sign, which is reported
			used["secrets"] = used["secrets"] || isSecrets(f)
		}
		for _, v := range facts.Variables {
			if !isSecrets(v) {
				continue
			}
			if len(v.Path) == 0 { // it reads all secrets, or a secret whose name is computed
				used["secrets"] = true
				continue
			}
			used["secrets/"+v.Path[0]] = true
			used["secrets/"+suggest.Nearest(v.Path[0], c.w.Use.Secrets)] = true
		}
	})
	for i, name := range c.w.Use.Secrets {
		if !used["secrets"] && !used["secrets/"+name] {
			c.addAs(SeverityWarning, Diagnostic{Code: "SW205", Pointer: Pointer("/use/secrets").Index(i), Message: fmt.Sprintf("the secret `%s` is declared and not used", name),
				Help: fmt.Sprintf("read it by `${ $secrets.%s }`, or name it in an authentication by `use: %s`; a run waits for a worker that has it", name, name)})
		}
	}
}
