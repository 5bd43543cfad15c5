package dsl

import (
	"strings"
)

// site is a place of the document that holds an expression, or text that might be meant as one.
type site struct {
	at       Pointer
	text     string
	property string   // input.from, set, when, ...
	always   bool     // it is an expression with or without ${ }
	vars     []string // variables beside the built-in ones
}

// isExpression reports whether the site's text is evaluated.
func (s site) isExpression() bool { return s.always || Delimited(s.text) }

// siteWalk collects sites.
type siteWalk struct {
	sites []site
}

// sites returns every place of the document that holds an expression, in no particular order.
func (c *checker) sites() []site {
	w := &siteWalk{}
	if in := c.w.Input; in != nil {
		w.transform("/input/from", "input.from", in.From, nil)
	}
	if out := c.w.Output; out != nil {
		w.transform("/output/as", "output.as", out.As, nil)
	}
	w.timeout(c.w.Timeout, nil)
	for _, name := range sortedKeys(c.w.Use.Timeouts) {
		w.timeout(c.w.Use.Timeouts[name], nil)
	}
	for _, name := range sortedKeys(c.w.Use.Errors) {
		w.error(c.w.Use.Errors[name], nil)
	}
	for _, name := range sortedKeys(c.w.Use.Authentications) {
		w.authentication(c.w.Use.Authentications[name], nil)
	}
	for _, e := range c.w.Use.Extensions {
		w.expression(e.Pointer.Key("when"), "when", e.When, nil)
		w.list(e.Before, nil)
		w.list(e.After, nil)
	}
	w.list(c.w.Do, nil)
	return w.sites
}

func (w *siteWalk) expression(at Pointer, property string, e Expression, vars []string) {
	if e != "" {
		w.sites = append(w.sites, site{at, string(e), property, true, vars})
	}
}

// transform is an expression, or an object that holds some.
func (w *siteWalk) transform(at Pointer, property string, v any, vars []string) {
	if text, ok := v.(string); ok {
		w.expression(at, property, Expression(text), vars)
		return
	}
	w.data(at, property, v, vars)
}

// data is any JSON data whose strings may be expressions.
func (w *siteWalk) data(at Pointer, property string, v any, vars []string) {
	switch v := v.(type) {
	case string:
		w.sites = append(w.sites, site{at, v, property, false, vars})
	case map[string]any:
		for _, name := range sortedKeys(v) {
			w.data(at.Key(name), property, v[name], vars)
		}
	case []any:
		for i, item := range v {
			w.data(at.Index(i), property, item, vars)
		}
	}
}

func (w *siteWalk) duration(d *Duration, vars []string) {
	if d != nil && d.Expression != "" {
		w.data(d.Pointer, "duration", d.Expression, vars)
	}
}

func (w *siteWalk) timeout(t *Timeout, vars []string) {
	if t != nil {
		w.duration(t.After, vars)
	}
}

func (w *siteWalk) error(e *ErrorDefinition, vars []string) {
	if e == nil {
		return
	}
	for name, text := range map[string]string{"type": e.Type, "title": e.Title, "detail": e.Detail, "instance": e.Instance} {
		w.data(e.Pointer.Key(name), "raise", text, vars)
	}
}

func (w *siteWalk) authentication(a *Authentication, vars []string) {
	if a != nil {
		w.data(a.Pointer.Key(a.Scheme), "authentication", a.Properties, vars)
	}
}

func (w *siteWalk) endpoint(e *Endpoint, vars []string) {
	if e == nil {
		return
	}
	w.data(e.Pointer, "endpoint", e.URI, vars)
	w.authentication(e.Authentication, vars)
}

func (w *siteWalk) list(tasks TaskList, vars []string) {
	for _, t := range tasks {
		w.task(t, vars)
	}
}

// task collects the sites of one task; what functions hold may use the variables of any caller and is left out.
func (w *siteWalk) task(t Task, vars []string) {
	base := t.Base()
	w.expression(base.Pointer.Key("if"), "if", base.If, vars)
	if base.Input != nil {
		w.transform(base.Pointer.Key("input").Key("from"), "input.from", base.Input.From, vars)
	}
	own := vars
	switch t := t.(type) {
	case *TryTask:
		own = with(vars, t.Catch.As, "authorization")
	case *ForTask:
		own = with(vars, t.Each, t.At)
	}
	if base.Output != nil {
		w.transform(base.Pointer.Key("output").Key("as"), "output.as", base.Output.As, own)
	}
	if base.Export != nil {
		w.transform(base.Pointer.Key("export").Key("as"), "export.as", base.Export.As, own)
	}
	w.timeout(base.Timeout, vars)
	w.body(t, vars)
}

// with returns vars and more, without writing to vars.
func with(vars []string, more ...string) []string {
	return append(append([]string(nil), vars...), more...)
}

// body collects the sites of what is the kind's own.
func (w *siteWalk) body(t Task, vars []string) {
	at := t.Base().Pointer
	switch t := t.(type) {
	case *SetTask:
		w.transform(at.Key("set"), "set", t.Set, vars)
	case *DoTask:
		w.list(t.Do, vars)
	case *ForkTask:
		w.list(t.Branches, vars)
	case *ForTask:
		w.transform(at.Key("for").Key("in"), "for.in", t.In, vars)
		inner := with(vars, t.Each, t.At)
		w.expression(at.Key("while"), "while", t.While, inner)
		w.list(t.Do, inner)
	case *SwitchTask:
		for _, one := range t.Cases {
			w.expression(one.Pointer.Key("when"), "when", one.When, vars)
		}
	case *TryTask:
		w.try(t, vars)
	case *RaiseTask:
		w.data(at.Key("raise").Key("error"), "raise", t.Use, vars)
		w.error(t.Error, vars)
	case *WaitTask:
		w.duration(t.Wait, vars)
	case *EmitTask:
		w.data(at.Key("emit").Key("event").Key("with"), "emit", anyOf(t.With), vars)
	case *ListenTask:
		if t.ForEach != nil {
			w.list(t.ForEach.Do, with(vars, t.ForEach.Item, t.ForEach.At))
		}
	default:
		w.outside(t, vars)
	}
}

// anyOf returns nil for a nil map.
func anyOf(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func (w *siteWalk) try(t *TryTask, vars []string) {
	w.list(t.Try, vars)
	caught, at := with(vars, t.Catch.As), t.Catch.Pointer
	w.expression(at.Key("when"), "catch.when", t.Catch.When, caught)
	w.expression(at.Key("exceptWhen"), "catch.exceptWhen", t.Catch.ExceptWhen, caught)
	if r := t.Catch.Retry; r != nil {
		w.expression(r.Pointer.Key("when"), "retry.when", r.When, caught)
		w.expression(r.Pointer.Key("exceptWhen"), "retry.exceptWhen", r.ExceptWhen, caught)
		for _, d := range []*Duration{r.Delay, r.AttemptDuration, r.LimitDuration, r.JitterFrom, r.JitterTo} {
			w.duration(d, caught)
		}
	}
	w.list(t.Catch.Do, caught)
}

// outside collects the sites of the kinds that reach outside.
func (w *siteWalk) outside(t Task, vars []string) {
	at := t.Base().Pointer.Key("with")
	run := t.Base().Pointer.Key("run")
	switch t := t.(type) {
	case *CallHTTP:
		w.endpoint(t.Endpoint, vars)
		w.data(at.Key("headers"), "call", t.Headers, vars)
		w.data(at.Key("query"), "call", t.Query, vars)
		w.data(at.Key("body"), "call", t.Body, vars)
	case *CallFunction:
		w.data(at, "call", anyOf(t.With), vars)
	case *CallOpenAPI:
		w.data(at.Key("parameters"), "call", anyOf(t.Parameters), vars)
		w.authentication(t.Authentication, vars)
	case *CallGRPC:
		w.data(at.Key("arguments"), "call", anyOf(t.Arguments), vars)
	case *CallA2A:
		w.data(at.Key("parameters"), "call", t.Parameters, vars)
	case *CallMCP:
		w.data(at.Key("parameters"), "call", t.Parameters, vars)
	case *RunShell:
		w.process(run.Key("shell"), t.Process, vars)
		w.code(run.Key("shell").Key("command"), t.Command, vars)
	case *RunScript:
		w.process(run.Key("script"), t.Process, vars)
		w.code(run.Key("script").Key("code"), t.Code, vars)
	case *RunContainer:
		w.process(run.Key("container"), t.Process, vars)
		w.code(run.Key("container").Key("command"), t.Command, vars)
	case *RunWorkflow:
		w.data(run.Key("workflow").Key("input"), "run", t.With, vars)
	}
}

func (w *siteWalk) process(at Pointer, p Process, vars []string) {
	w.data(at.Key("stdin"), "run", p.Stdin, vars)
	w.data(at.Key("arguments"), "run", p.Arguments, vars)
	w.data(at.Key("environment"), "run", anyOf(p.Environment), vars)
}

// code is the text of a program, which is evaluated only if it is one expression as a whole.
func (w *siteWalk) code(at Pointer, text string, vars []string) {
	if Delimited(text) && !strings.Contains(strings.TrimSpace(text), "\n") {
		w.data(at, "code", text, vars)
	}
}
