package dsl

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/suggest"
)

// reference is a place that names something under use.
type reference struct {
	section, name string
	at            Pointer
}

// references returns every place that names something under use.
func (c *checker) references() []reference {
	w := &referenceWalk{source: c.w.Source}
	w.timeout(c.w.Timeout)
	for _, name := range sortedKeys(c.w.Use.Authentications) {
		w.authentication(c.w.Use.Authentications[name])
	}
	Walk(c.w, func(t Task) bool {
		w.timeout(t.Base().Timeout)
		w.task(t)
		return true
	})
	return w.found
}

// referenceWalk collects references.
type referenceWalk struct {
	source *Source
	found  []reference
}

func (w *referenceWalk) add(section, name string, at Pointer) {
	if name != "" && !delimited.Is(name) {
		w.found = append(w.found, reference{section, name, at})
	}
}

func (w *referenceWalk) timeout(t *Timeout) {
	if t != nil {
		w.add("timeouts", t.Use, t.Pointer)
	}
}

func (w *referenceWalk) authentication(a *Authentication) {
	if a == nil {
		return
	}
	at := a.Pointer
	if _, _, exact := w.source.find(at.Key("use")); exact { // otherwise the name stands in place of the policy
		at = at.Key("use")
	}
	w.add("authentications", a.Use, at)
	w.add("secrets", a.Secret, a.Pointer.Key(a.Scheme).Key("use"))
}

func (w *referenceWalk) endpoint(e *Endpoint) {
	if e != nil {
		w.authentication(e.Authentication)
	}
}

func (w *referenceWalk) resource(r *ExternalResource) {
	if r != nil {
		w.endpoint(r.Endpoint)
	}
}

func (w *referenceWalk) task(t Task) {
	switch t := t.(type) {
	case *TryTask:
		w.add("retries", t.Catch.RetryUse, t.Catch.Pointer.Key("retry"))
	case *RaiseTask:
		w.add("errors", t.Use, t.Pointer.Key("raise").Key("error"))
	case *CallHTTP:
		w.endpoint(t.Endpoint)
	case *CallOpenAPI:
		w.authentication(t.Authentication)
		w.resource(t.Document)
	case *CallGRPC:
		w.authentication(t.Authentication)
		w.resource(t.Proto)
	case *CallAsyncAPI:
		w.authentication(t.Authentication)
		w.resource(t.Document)
	case *CallA2A:
		w.endpoint(t.Server)
		w.resource(t.AgentCard)
	case *CallMCP:
		if t.HTTP != nil {
			w.endpoint(t.HTTP.Endpoint)
		}
	case *CallFunction:
		w.function(t)
	case *RunScript:
		w.resource(t.Source)
	}
}

// function tells what a call names: a function under use, or one of a catalog there (semantics 12.1).
func (w *referenceWalk) function(t *CallFunction) {
	i, at := strings.LastIndexByte(t.Function, '@'), t.Pointer.Key("call")
	switch {
	case !strings.ContainsAny(t.Function, "@:/"):
		w.add("functions", t.Function, at)
	case i >= 0 && !strings.Contains(t.Function, "/") && t.Function[i+1:] != "default":
		w.add("catalogs", t.Function[i+1:], at)
	}
}

// defined returns what use has, by section.
func (c *checker) defined() map[string][]string {
	u := c.w.Use
	return map[string][]string{
		"authentications": sortedKeys(u.Authentications), "catalogs": sortedKeys(u.Catalogs), "errors": sortedKeys(u.Errors),
		"functions": sortedKeys(u.Functions), "retries": sortedKeys(u.Retries), "secrets": u.Secrets, "timeouts": sortedKeys(u.Timeouts),
	}
}

// checkReferences: SW203, names that nothing under use has.
func checkReferences(c *checker) {
	defined := c.defined()
	for _, r := range c.references() {
		if contains(defined[r.section], r.name) {
			continue
		}
		d := Diagnostic{Code: "SW203", Pointer: r.at, Message: fmt.Sprintf("`%s` is not among use.%s", r.name, r.section)}
		switch r.section {
		case "catalogs":
			d = c.catalog(d, r.name, defined[r.section])
		case "functions":
			d = c.meant(d, append(defined[r.section], "a2a", "asyncapi", "grpc", "http", "mcp", "openapi"))
		default:
			d = c.meant(d, defined[r.section])
		}
		if r.section == "timeouts" {
			if duration, ok := c.w.Source.durationForName(d, r.name); ok {
				c.add(duration)
				continue
			}
		}
		if len(defined[r.section]) > 0 {
			d.Help = "defined: " + strings.Join(defined[r.section], ", ")
		} else {
			d.Help = fmt.Sprintf("define it under use.%s", r.section)
		}
		c.add(d)
	}
}

// catalog completes d, whose pointer is that of a function's name with its catalog: name:version@catalog.
func (c *checker) catalog(d Diagnostic, name string, candidates []string) Diagnostic {
	text, _ := c.w.Source.Data(d.Pointer).(string)
	i := strings.LastIndexByte(text, '@') + 1
	d.Range = c.w.Source.Within(d.Pointer, i, len(text))
	if meant := suggest.Nearest(name, candidates); meant != "" {
		d.Label, d.Fix = didYouMean(meant), onlyIf(suggest.Name(name, candidates) == meant, []Edit{{Range: d.Range, NewText: meant, Safe: true}})
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

// checkUnused: SW205, what is defined under use and named nowhere.
func checkUnused(c *checker) {
	used, defined := map[string]bool{}, c.defined()
	for _, r := range c.references() {
		used[r.section+"/"+r.name] = true
		used[r.section+"/"+suggest.Nearest(r.name, defined[r.section])] = true // it is misspelt, which is one mistake
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
	c.facts(func(_ site, facts Facts) {
		for _, v := range facts.Variables {
			if v.Name != "secrets" && v.Name != "secret" {
				continue
			}
			if len(v.Path) == 0 { // all of them, or one that only a run knows
				used["secrets"] = true
				continue
			}
			used["secrets/"+v.Path[0]] = true
			used["secrets/"+suggest.Nearest(v.Path[0], c.w.Use.Secrets)] = true
		}
	})
	for i, name := range c.w.Use.Secrets {
		if !used["secrets"] && !used["secrets/"+name] {
			c.add(Diagnostic{Code: "SW205", Pointer: Pointer("/use/secrets").Index(i), Message: fmt.Sprintf("`%s` is defined and not used", name)})
		}
	}
}
