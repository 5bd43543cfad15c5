package dsl

import (
	"maps"
	"slices"

	"github.com/swrun/swrun/internal/delimited"
)

// Walk calls visit for every task of the workflow: tasks of extensions and functions first, then the others in the order of the document. A task
// precedes the tasks inside it. If visit returns false, the tasks inside are left out.
func Walk(w *Workflow, visit func(Task) bool) {
	(&walker{onTask: visit}).workflow(w, nil)
}

// TaskAt returns the task at a pointer, or nil.
func TaskAt(w *Workflow, p Pointer) (found Task) {
	Walk(w, func(t Task) bool {
		if t.Base().Pointer == p {
			found = t
		}
		return found == nil
	})
	return found
}

func walkList(l TaskList, visit func(Task) bool) {
	(&walker{onTask: visit}).list(nil, l)
}

// Lists returns the lists of tasks that a task contains, in the order of the document.
func Lists(t Task) []TaskList {
	w := &walker{shallow: true}
	t.parts(w)
	return w.lists
}

// walker visits all parts of a tree, and calls each hook that is set for the parts of one sort. The method parts of each kind of task visits the
// properties that only this kind has.
type walker struct {
	onTask      func(Task) bool              // before the parts inside it; false leaves them out
	onList      func(owner Task, l TaskList) // the owner is nil for the workflow and for extensions
	onBound     func(variables []string)
	onValue     func(p property, v Value)
	onSchema    func(*Schema)
	onError     func(*ErrorDefinition)
	onReference func(Reference)
	onPlaintext func(a *Authentication, at Pointer, help string) // calls without TLS, with the form that uses TLS
	shallow     bool                                             // lists are collected in the field lists, and not visited
	lists       []TaskList
	variables   []string // bound at the current part
	task        Task     // the innermost task around the current part, or nil
}

// workflow visits a document. Definitions under use run at every place that names them: variables are the variables that they may use.
func (w *walker) workflow(doc *Workflow, variables []string) {
	w.input(doc.Input)
	w.output(doc.Output)
	w.timeout(doc.Timeout)
	if s := doc.Schedule; s != nil {
		w.durations(s.Every, s.After)
		w.strategy(s.On)
	}
	outer := w.bind(variables)
	w.use(&doc.Use)
	w.variables = outer
	w.list(nil, doc.Do)
}

func (w *walker) use(u *Use) {
	for _, name := range sortedKeys(u.Timeouts) {
		w.timeout(u.Timeouts[name])
	}
	for _, name := range sortedKeys(u.Errors) {
		w.error(u.Errors[name])
	}
	for _, name := range sortedKeys(u.Retries) {
		w.retry(u.Retries[name])
	}
	for _, name := range sortedKeys(u.Authentications) {
		w.authentication(u.Authentications[name])
	}
	for _, name := range sortedKeys(u.Catalogs) {
		w.endpoint(u.Catalogs[name])
	}
	for _, e := range u.Extensions {
		w.expression(propertyWhen, e.When)
		w.list(nil, e.Before)
		w.list(nil, e.After)
	}
	for _, name := range sortedKeys(u.Functions) {
		w.one(u.Functions[name])
	}
}

// bind binds variables for the parts that follow. It returns the previously bound variables, which the caller restores.
func (w *walker) bind(variables []string) (outer []string) {
	outer = w.variables
	if len(variables) > 0 {
		if w.onBound != nil {
			w.onBound(variables)
		}
		w.variables = append(slices.Clip(outer), variables...)
	}
	return outer
}

func (w *walker) list(owner Task, l TaskList) {
	if w.shallow {
		w.lists = append(w.lists, l)
		return
	}
	if w.onList != nil {
		w.onList(owner, l)
	}
	for _, t := range l {
		w.one(t)
	}
}

// one visits one task.
func (w *walker) one(t Task) {
	if w.onTask != nil && !w.onTask(t) {
		return
	}
	base, around := t.Base(), w.task
	w.task = t
	w.expression(propertyIf, base.If)
	w.input(base.Input)
	w.timeout(base.Timeout)
	outer := w.bind(t.binds())
	w.output(base.Output)
	w.export(base.Export)
	w.variables = outer
	t.parts(w)
	w.task = around
}

func (w *walker) input(in *Input) {
	if in != nil {
		w.schema(in.Schema)
		w.value(propertyInputFrom, in.From)
	}
}

func (w *walker) output(out *Output) {
	if out != nil {
		w.schema(out.Schema)
		w.value(propertyOutputAs, out.As)
	}
}

func (w *walker) export(export *Export) {
	if export != nil {
		w.schema(export.Schema)
		w.value(propertyExportAs, export.As)
	}
}

// value visits values of a property.
func (w *walker) value(p property, values ...Value) {
	for _, v := range values {
		if w.onValue != nil && v.Data != nil {
			w.onValue(p, v)
		}
	}
}

func (w *walker) expression(p property, e Expression) {
	if w.onValue != nil && e.Text != "" {
		w.onValue(p, Value{e.Pointer, e.Text, FormTransform})
	}
}

func (w *walker) durations(all ...*Duration) {
	for _, d := range all {
		if w.onValue != nil && d != nil && d.Expression != "" {
			w.onValue(propertyDuration, d.Value())
		}
	}
}

func (w *walker) reference(r Reference) {
	if w.onReference != nil && r.Name != "" && !delimited.Is(r.Name) {
		w.onReference(r)
	}
}

func (w *walker) timeout(t *Timeout) {
	if t != nil {
		w.reference(t.Use)
		w.durations(t.After)
	}
}

func (w *walker) error(e *ErrorDefinition) {
	if e == nil {
		return
	}
	if w.onError != nil {
		w.onError(e)
	}
	if w.onValue != nil {
		w.onValue(propertyRaise, e.Value())
	}
}

func (w *walker) retry(r *RetryPolicy) {
	if r != nil {
		w.expression(propertyRetryWhen, r.When)
		w.expression(propertyRetryExceptWhen, r.ExceptWhen)
		w.durations(r.Delay, r.AttemptDuration, r.LimitDuration, r.JitterFrom, r.JitterTo)
	}
}

func (w *walker) authentication(a *Authentication) {
	if a != nil {
		w.reference(a.Use)
		w.reference(a.Secret)
		w.value(propertyAuthentication, a.Properties)
	}
}

func (w *walker) endpoint(e *Endpoint) {
	if e != nil {
		if plainURI.MatchString(e.URI.Text()) {
			w.plaintext(e.Authentication, e.URI.Pointer, "write https://, or use another scheme of authentication")
		}
		w.value(propertyEndpoint, e.URI)
		w.authentication(e.Authentication)
	}
}

func (w *walker) plaintext(a *Authentication, at Pointer, help string) {
	if w.onPlaintext != nil {
		w.onPlaintext(a, at, help)
	}
}

func (w *walker) resource(r *ExternalResource) {
	if r != nil {
		w.endpoint(r.Endpoint)
	}
}

func (w *walker) schema(s *Schema) {
	if s != nil {
		if w.onSchema != nil {
			w.onSchema(s)
		}
		w.resource(s.Resource)
	}
}

// strategy visits the filters, correlations and end of the consumption of events.
func (w *walker) strategy(s *EventStrategy) {
	if s == nil {
		return
	}
	for _, f := range s.Filters() {
		w.value(propertyEventFilter, f.With)
		for _, key := range sortedKeys(f.Correlate) {
			w.correlation(f.Correlate[key])
		}
	}
	w.expression(propertyUntil, s.Until)
	w.strategy(s.UntilEvent)
}

// correlation visits the expressions of a correlation: `from` unless it is the name of an attribute (semantics 14.7), and `expect` unless it is a literal.
func (w *walker) correlation(c Correlation) {
	if !c.IsAttribute() {
		w.expression(propertyCorrelateFrom, c.From)
	}
	if c.ExpectsExpression() {
		w.expression(propertyCorrelateExpect, c.Expect)
	}
}

func (w *walker) iterator(owner Task, i *Iterator) {
	if i == nil {
		return
	}
	outer := w.bind([]string{i.Item, i.At})
	w.list(owner, i.Do)
	w.output(i.Output)
	w.export(i.Export)
	w.variables = outer
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
