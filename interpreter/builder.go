package interpreter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/limits"
)

// Builder compiles the parts of one task on behalf of its kind. It collects mistakes as diagnostics. A method that fails returns a zero value that
// must not be run, and no program is made.
type Builder struct {
	c    *compiler
	node *node
	// siblings is the list that contains the task, for flow directives; nil outside lists.
	siblings dsl.TaskList
}

// Workflow returns the document, for references into use.
func (b *Builder) Workflow() *dsl.Workflow { return b.c.workflow }

// ErrorFilter returns a filter that knows the aliases of error types; nil for nil.
func (b *Builder) ErrorFilter(f *dsl.ErrorFilter) *dsl.ErrorFilter {
	return f.WithAliases(b.c.config.ErrorAliases)
}

// ErrorTypes returns some types of errors, and all types that are read as one of them. A standard type may be given by its short name.
func (b *Builder) ErrorTypes(named []string) (all []string) {
	for _, one := range named {
		if uri := errors.StandardType(one); uri != "" {
			one = uri
		}
		all = append(all, b.c.config.ErrorAliases.Spellings(one)...)
	}
	return all
}

// Condition compiles an expression; it returns nil for an absent one.
func (b *Builder) Condition(e dsl.Expression) *expr.Code {
	if e.Text == "" {
		return nil
	}
	code, err := expr.Compile(e.Text)
	if err != nil {
		b.c.syntaxError(e.Pointer, err)
		return nil
	}
	b.c.program.places[code] = e.Pointer
	b.uses(code.Variables(), delimit(e.Text))
	return code
}

func delimit(text string) string {
	if expr.Delimited(text) {
		return text
	}
	return "${" + text + "}"
}

// Value compiles a value of the document; it returns nil for an absent one, which must not be evaluated.
func (b *Builder) Value(v dsl.Value) *expr.Template {
	if v.Data == nil {
		return nil
	}
	data, shift := v.Data, 0
	if text, ok := data.(string); ok && v.Form == dsl.FormTransform && !expr.Delimited(text) {
		data, shift = delimit(text), -len("${")
	}
	t, err := expr.CompileTemplate(data, b.c.workflow.Evaluate.Loose && v.Form != dsl.FormText)
	if err != nil {
		b.c.templateErrors(v.Pointer, err, shift)
		return nil
	}
	b.c.notePlaces(v.Pointer, t)
	b.uses(t.Variables(), data)
	return t
}

// uses notes which secrets the task's expressions name, so that a missing one is found before the task does anything
// (semantics 2.11), and whether they see the document.
func (b *Builder) uses(variables []string, v any) {
	b.c.seesWorkflow = b.c.seesWorkflow || slices.Contains(variables, "workflow")
	b.c.seesTask = b.c.seesTask || slices.Contains(variables, "task")
	if b.node != workflowNode && (slices.Contains(variables, "secrets") || slices.Contains(variables, "secret")) {
		all := secretNames(v)
		b.refuseSecrets(all)
		for _, name := range all {
			b.needsSecret(name)
		}
	}
}

// NeedsSecret notes that the task cannot start without a secret.
func (b *Builder) NeedsSecret(name string) {
	b.refuseSecrets([]string{name})
	b.needsSecret(name)
}

func (b *Builder) needsSecret(name string) {
	if b.node.secrets = append(b.node.secrets, name); slices.Contains(b.c.workflow.Use.Secrets, name) { // without this, no driver holds it
		b.Needs(NeedSecret(name))
	}
}

func secretNames(v any) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range names(v) {
			found = append(found, secretNames(v[name])...)
		}
	case []any:
		for _, item := range v {
			found = append(found, secretNames(item)...)
		}
	case string:
		facts, err := expr.Analyze(v)
		if err != nil || !expr.Delimited(v) {
			return nil
		}
		for _, ref := range facts.Variables {
			if (ref.Name == "secrets" || ref.Name == "secret") && len(ref.Path) > 0 {
				found = append(found, ref.Path[0])
			}
		}
	}
	return found
}

// Duration compiles a duration; it returns nil for an absent one.
func (b *Builder) Duration(d *dsl.Duration) *Duration {
	if d == nil {
		return nil
	}
	if d.Expression == "" {
		return &Duration{literal: *d}
	}
	return &Duration{code: b.Value(d.Value()), property: property(d.Pointer)}
}

// property returns the name of the value at a pointer, for messages, such as after.
func property(at dsl.Pointer) string {
	tokens := at.Tokens()
	return tokens[len(tokens)-1]
}

// List compiles a list of child tasks at name below the task, for example "do" or "catch/do".
func (b *Builder) List(name string, tasks dsl.TaskList) *List {
	list := &List{name: name, owner: b.node}
	b.node.lists = append(b.node.lists, list)
	b.c.fill(list, tasks, b.node.pointer+dsl.Pointer("/"+name))
	return list
}

// Jump resolves the flow directive of the task in `then` of an object; an absent directive is nil.
func (b *Builder) Jump(at dsl.Pointer, then string) *Jump {
	if then == "" {
		return nil
	}
	jump := b.c.jump(at.Key("then"), then, b.siblings)
	return &jump
}

// Load reads a resource whose URI is literal. Its Place is never empty. ok is false if reading failed, which is reported, or if the URI is an
// expression or template, so that the resource can only be read at run time.
func (b *Builder) Load(r *dsl.ExternalResource) (found Resource, ok bool) {
	uri := r.Endpoint.URI.Text()
	if expr.Delimited(uri) || strings.ContainsAny(uri, "{}") {
		return found, false
	}
	policy, ok := b.policy(r.Endpoint.Authentication)
	if !ok {
		return found, false
	}
	found, err := b.c.load(b.Located(uri), policy)
	if errors.Is(err, ErrNotFetched) {
		b.c.add(dsl.Diagnostic{Code: "SW805", Severity: dsl.SeverityInfo, Pointer: r.Endpoint.Pointer,
			Message: fmt.Sprintf("%s is not fetched, so its content is not checked", uri), Help: "--fetch reads it"})
		return found, false
	}
	if err != nil {
		b.Report("SW802", r.Endpoint.Pointer, fmt.Sprintf("cannot read %s: %s", uri, err))
		return found, false
	}
	found.Place = cmp.Or(found.Place, b.Located(uri))
	return found, true
}

// Read reads the resource at a place that another resource names. The error may be ErrNotFetched.
func (b *Builder) Read(place string) ([]byte, error) {
	found, err := b.c.load(place, nil)
	return found.Data, err
}

// InOrder returns the names of the members of an object in the document's order; nil if v is no object.
func (b *Builder) InOrder(v dsl.Value) []string {
	object, _ := v.Data.(map[string]any)
	names := slices.Sorted(maps.Keys(object))
	place := func(name string) int { return b.c.workflow.Source.Key(v.Pointer.Key(name)).Start.Offset }
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return names
}

// Add adds a diagnostic at the value of its pointer.
func (b *Builder) Add(d dsl.Diagnostic) { b.c.add(d) }

// Report adds an error diagnostic at the value of a pointer.
func (b *Builder) Report(code string, at dsl.Pointer, message string) {
	b.c.report(code, at, message, "")
}

// Function compiles a function's task as the only child of the task. The same function is compiled once, so that it
// may call itself.
func (b *Builder) Function(origin dsl.Pointer, task dsl.Task) *List {
	list := b.c.function(origin, task)
	b.node.lists = append(b.node.lists, list)
	return list
}

// FailLoad is the error of a resource that could not be read at run time.
func FailLoad(uri string, err error) *errors.Error {
	failed := errors.Configurationf("cannot read %s: %s", uri, err)
	var large *TooLargeError
	if errors.As(err, &large) {
		return limits.Annotate(failed, "resource", large.Max+1, large.Max)
	}
	return failed
}

// TooLargeError reports that a resource has more than Max bytes. Only that part of it was read.
type TooLargeError struct{ Max int }

func (e *TooLargeError) Error() string { return fmt.Sprintf("it is larger than %d bytes", e.Max) }
