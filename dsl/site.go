package dsl

import (
	"slices"

	"github.com/swrun/swrun/internal/delimited"
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
func (s site) isExpression() bool { return s.always || delimited.Is(s.text) }

// siteWalk collects sites.
type siteWalk struct {
	source *Source
	sites  []site
}

// collectSites returns every place of the document that holds an expression, in no particular order. What is defined
// under use runs wherever it is named, so it may use all variables that are bound anywhere.
func collectSites(doc *Workflow) []site {
	w := &siteWalk{source: doc.Source}
	if in := doc.Input; in != nil {
		w.schema(in.Schema, nil)
		w.transform("/input/from", "input.from", in.From, nil)
	}
	if out := doc.Output; out != nil {
		w.schema(out.Schema, nil)
		w.transform("/output/as", "output.as", out.As, nil)
	}
	w.timeout(doc.Timeout, nil)
	if s := doc.Schedule; s != nil {
		w.duration(s.Every, nil)
		w.duration(s.After, nil)
		w.strategy(s.On, nil)
	}
	w.use(&doc.Use, boundAnywhere(doc))
	w.list(doc.Do, nil)
	return w.sites
}

func (w *siteWalk) use(u *Use, vars []string) {
	for _, name := range sortedKeys(u.Timeouts) {
		w.timeout(u.Timeouts[name], vars)
	}
	for _, name := range sortedKeys(u.Errors) {
		w.error(u.Errors[name], vars)
	}
	for _, name := range sortedKeys(u.Retries) {
		w.retry(u.Retries[name], vars)
	}
	for _, name := range sortedKeys(u.Authentications) {
		w.authentication(u.Authentications[name], vars)
	}
	for _, name := range sortedKeys(u.Functions) {
		w.task(u.Functions[name], vars)
	}
	for _, e := range u.Extensions {
		w.expression(e.Pointer.Key("when"), "when", e.When, vars)
		w.list(e.Before, vars)
		w.list(e.After, vars)
	}
}

// boundAnywhere returns the variables that some loop, catch or iterator of the document binds.
func boundAnywhere(doc *Workflow) []string {
	var all []string
	Walk(doc, func(t Task) bool {
		switch t := t.(type) {
		case *ForTask:
			all = with(all, t.Each, t.At)
		case *TryTask:
			all = with(all, t.Catch.As)
		case *ListenTask:
			all = with(all, iterated(t.ForEach)...)
		case *CallAsyncAPI:
			if t.Subscription != nil {
				all = with(all, iterated(t.Subscription.ForEach)...)
			}
		}
		return true
	})
	slices.Sort(all)
	return slices.Compact(all)
}

func iterated(i *Iterator) []string {
	if i == nil {
		return nil
	}
	return []string{i.Item, i.At}
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
	w.data(e.Pointer.Key("type"), "raise", e.Type, vars)
	w.data(e.Pointer.Key("status"), "raise", e.Status, vars)
	w.data(e.Pointer.Key("title"), "raise", e.Title, vars)
	w.data(e.Pointer.Key("detail"), "raise", e.Detail, vars)
	w.data(e.Pointer.Key("instance"), "raise", e.Instance, vars)
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
	at := e.Pointer
	if _, _, object := w.source.find(at.Key("uri")); object {
		at = at.Key("uri")
	}
	w.data(at, "endpoint", e.URI, vars)
	w.authentication(e.Authentication, vars)
}

func (w *siteWalk) resource(r *ExternalResource, vars []string) {
	if r != nil {
		w.endpoint(r.Endpoint, vars)
	}
}

func (w *siteWalk) schema(s *Schema, vars []string) {
	if s != nil {
		w.resource(s.Resource, vars)
	}
}

func (w *siteWalk) list(tasks TaskList, vars []string) {
	for _, t := range tasks {
		w.task(t, vars)
	}
}

// task collects the sites of one task.
func (w *siteWalk) task(t Task, vars []string) {
	base := t.Base()
	w.expression(base.Pointer.Key("if"), "if", base.If, vars)
	if base.Input != nil {
		w.schema(base.Input.Schema, vars)
		w.transform(base.Pointer.Key("input").Key("from"), "input.from", base.Input.From, vars)
	}
	own := vars
	switch t := t.(type) {
	case *TryTask:
		own = with(vars, t.Catch.As)
	case *ForTask:
		own = with(vars, t.Each, t.At)
	}
	w.results(base.Pointer, base.Output, base.Export, own)
	w.timeout(base.Timeout, vars)
	w.body(t, vars)
}

func (w *siteWalk) results(at Pointer, out *Output, export *Export, vars []string) {
	if out != nil {
		w.schema(out.Schema, vars)
		w.transform(at.Key("output").Key("as"), "output.as", out.As, vars)
	}
	if export != nil {
		w.schema(export.Schema, vars)
		w.transform(at.Key("export").Key("as"), "export.as", export.As, vars)
	}
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
		w.strategy(t.To, vars)
		w.iterator(t.ForEach, vars)
	default:
		w.outside(t, vars)
	}
}

func (w *siteWalk) retry(r *RetryPolicy, vars []string) {
	if r == nil {
		return
	}
	w.expression(r.Pointer.Key("when"), "retry.when", r.When, vars)
	w.expression(r.Pointer.Key("exceptWhen"), "retry.exceptWhen", r.ExceptWhen, vars)
	for _, d := range []*Duration{r.Delay, r.AttemptDuration, r.LimitDuration, r.JitterFrom, r.JitterTo} {
		w.duration(d, vars)
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
	w.retry(t.Catch.Retry, caught)
	w.list(t.Catch.Do, caught)
}
