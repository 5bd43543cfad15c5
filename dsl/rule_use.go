package dsl

import (
	"fmt"
	"strings"
)

// reference is a place that names something under use.
type reference struct {
	section, name string
	at            Pointer
}

// references returns every place that names something under use.
func (c *checker) references() []reference {
	var all []reference
	add := func(section, name string, at Pointer) {
		if name != "" && !Delimited(name) {
			all = append(all, reference{section, name, at})
		}
	}
	timeout := func(t *Timeout) {
		if t != nil {
			add("timeouts", t.Use, t.Pointer)
		}
	}
	authentication := func(a *Authentication) {
		if a != nil {
			at := a.Pointer
			if _, value, exact := c.w.Source.find(at.Key("use")); exact && value.Value == a.Use {
				at = at.Key("use")
			}
			add("authentications", a.Use, at)
			add("secrets", a.Secret, a.Pointer.Key(a.Scheme).Key("use"))
		}
	}
	endpoint := func(e *Endpoint) {
		if e != nil {
			authentication(e.Authentication)
		}
	}
	resource := func(r *ExternalResource) {
		if r != nil {
			endpoint(r.Endpoint)
		}
	}
	timeout(c.w.Timeout)
	for _, name := range sortedKeys(c.w.Use.Authentications) {
		authentication(c.w.Use.Authentications[name])
	}
	Walk(c.w, func(t Task) bool {
		timeout(t.Base().Timeout)
		switch t := t.(type) {
		case *TryTask:
			add("retries", t.Catch.RetryUse, t.Catch.Pointer.Key("retry"))
		case *RaiseTask:
			add("errors", t.Use, t.Pointer.Key("raise").Key("error"))
		case *CallHTTP:
			endpoint(t.Endpoint)
		case *CallOpenAPI:
			authentication(t.Authentication)
			resource(t.Document)
		case *CallGRPC:
			authentication(t.Authentication)
		case *CallAsyncAPI:
			authentication(t.Authentication)
		case *CallFunction:
			if !strings.ContainsAny(t.Function, "@:/") {
				add("functions", t.Function, t.Pointer.Key("call"))
			}
		case *RunScript:
			resource(t.Source)
		}
		return true
	})
	return all
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
		if r.section == "functions" {
			d = c.meant(d, r.name, append(defined[r.section], "a2a", "asyncapi", "grpc", "http", "mcp", "openapi"))
		} else {
			d = c.meant(d, r.name, defined[r.section])
		}
		if len(defined[r.section]) > 0 {
			d.Help = "defined: " + strings.Join(defined[r.section], ", ")
		} else {
			d.Help = fmt.Sprintf("define it under use.%s", r.section)
		}
		c.add(d)
	}
}

func contains(list []string, name string) bool {
	for _, one := range list {
		if one == name {
			return true
		}
	}
	return false
}

// checkUnused: SW205, what is defined under use and named nowhere. Catalogs are named inside functions' names.
func checkUnused(c *checker) {
	used := map[string]bool{}
	for _, r := range c.references() {
		used[r.section+"/"+r.name] = true
	}
	defined := c.defined()
	for _, section := range []string{"authentications", "errors", "functions", "retries", "timeouts"} {
		for _, name := range defined[section] {
			if at := Pointer("/use").Key(section).Key(name); !used[section+"/"+name] {
				c.add(Diagnostic{Code: "SW205", Pointer: at, Range: c.w.Source.Key(at),
					Message: fmt.Sprintf("`%s` is defined and not used", name)})
			}
		}
	}
}
