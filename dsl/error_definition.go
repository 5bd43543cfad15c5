package dsl

import "gopkg.in/yaml.v3"

// ErrorDefinition describes an error to raise. Type, Title, Detail and Instance may be ${ } expressions.
type ErrorDefinition struct {
	Pointer  Pointer
	Type     string
	Status   any // whole number, or a ${ } expression that yields one
	Title    string
	Detail   string
	Instance string

	NonRetryable bool // no `try` retries after it (semantics 7.8b)
}

// Value returns the error as an object with the members that are present.
func (e *ErrorDefinition) Value() Value {
	members := map[string]any{"type": e.Type, "status": e.Status}
	for name, text := range map[string]string{"title": e.Title, "detail": e.Detail, "instance": e.Instance} {
		if text != "" {
			members[name] = text
		}
	}
	if e.NonRetryable {
		members["nonRetryable"] = true
	}
	return Value{e.Pointer, members, FormData}
}

func (p *parser) errorDefinition(n *yaml.Node, at Pointer) *ErrorDefinition {
	o := p.object(n, at, "an error", "type", "status", "title", "detail", "instance", "nonRetryable")
	o.require("type", "status")
	e := &ErrorDefinition{Pointer: at, Title: o.text("title"), Detail: o.text("detail"), Instance: o.text("instance"), NonRetryable: o.boolean("nonRetryable")}
	if n := o.value("type"); n != nil {
		e.Type = p.uri(n, at.Key("type"), "type")
	}
	if status := o.integer("status"); status != nil {
		e.Status = *status
	}
	return e
}

// ErrorOf returns the error that a task raises, or the error in use.errors that it names; nil if it is not known.
func (w *Workflow) ErrorOf(t *RaiseTask) *ErrorDefinition {
	if t.Use.Data != nil {
		return w.Use.Errors[t.Use.Text()]
	}
	return t.Error
}

// ErrorDefinitions returns the errors that a document defines, under use and where they are raised.
func (w *Workflow) ErrorDefinitions() (all []*ErrorDefinition) {
	(&walker{onError: func(e *ErrorDefinition) { all = append(all, e) }}).workflow(w, nil)
	return all
}
