package interpreter

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/redact"
)

// maxLoading is the maximum duration of reading all resources of a document, so that loading a document does not wait for servers that do not answer.
const maxLoading = 30 * time.Second

// Compile turns a document without errors into a program. It finds out everything that can be known before a run: it compiles every expression,
// resolves every reference and flow directive, and reads every literal external resource. The program is nil if the diagnostics contain an error.
func Compile(w *dsl.Workflow, config Config) (*Program, dsl.Diagnostics) {
	c, loaded := newCompiler(w, config)
	defer loaded()
	b := &Builder{c: c, node: workflowNode}
	c.program.input = c.input(b, w.Input)
	c.program.output = c.output(b, w.Output)
	c.program.timeout = c.timeout(b, w.Timeout)
	c.program.needsQueue(w.Document.Engine.Queue)
	c.compileExtensions()
	if d, unsupported := w.Evaluate.Unsupported(); unsupported {
		c.add(d)
	}
	c.program.root = &List{name: "do"}
	c.fill(c.program.root, w.Do, "/do")
	c.checkRecursion()
	if c.diagnostics.Err() != nil {
		return nil, c.diagnostics
	}
	c.program.definitions = c.definitions()
	return c.program, c.diagnostics
}

// newCompiler returns a compiler for a document. Call loaded after the last resource is read.
func newCompiler(w *dsl.Workflow, config Config) (c *compiler, loaded func()) {
	ctx, loaded := context.WithTimeout(context.Background(), maxLoading)
	c = &compiler{workflow: w, config: config, functions: map[function]*List{}, remote: newRemoteCalls(), origins: map[dsl.Pointer]bool{}}
	c.load = func(place string, p *Policy) (Resource, error) {
		if config.Load == nil {
			return Resource{}, errors.New("external resources are not available here")
		}
		return config.Load(context.WithValue(ctx, policyKey{}, p), RelativeFile(place))
	}
	c.program = &Program{Workflow: w, config: config, places: map[*expr.Code]dsl.Pointer{}, texts: map[dsl.Pointer]*dsl.Source{}, redacted: &redact.Cache{Former: config.FormerSecrets}}
	if len(w.Use.Secrets) > 0 {
		c.program.redacted.Public = PublicInErrors(w)
	}
	return c, loaded
}

type compiler struct {
	workflow    *dsl.Workflow
	config      Config
	program     *Program
	diagnostics dsl.Diagnostics
	load        func(place string, p *Policy) (Resource, error) // all loading of a document shares one bound
	functions   map[function]*List
	remote      *remoteCalls         // of remote functions
	base        string               // place of the remote function that workflow was made for; empty for the document
	caller      dsl.Pointer          // the task of the document that calls the function, perhaps through other functions; empty for the document
	origins     map[dsl.Pointer]bool // of the tasks compiled
	extensions  []*compiledExtension
	// inExtension is set while the tasks of an extension are compiled. These tasks are never extended themselves.
	inExtension bool
	// seesWorkflow and seesTask report whether any expression uses $workflow and $task.
	seesWorkflow, seesTask bool
}

// definitions keeps the parts of the document that expressions can see.
func (c *compiler) definitions() map[dsl.Pointer]any {
	definitions := map[dsl.Pointer]any{}
	if c.seesWorkflow {
		definitions[""] = c.workflow.Source.Data("")
	}
	if c.seesTask {
		for origin := range c.origins {
			definitions[origin] = c.program.Source(origin).Data(origin)
		}
	}
	return definitions
}

// fill compiles tasks into list; at is the pointer of the list as errors show it.
func (c *compiler) fill(list *List, tasks dsl.TaskList, at dsl.Pointer) {
	siblings := tasks
	if list.owner != nil {
		siblings = dsl.Siblings(list.owner.task, tasks)
	}
	for i, t := range tasks {
		base := t.Base()
		n := &node{task: t, origin: base.Pointer, pointer: at.Item(i, base.Name)}
		n.segment = "/" + list.name + string(dsl.Pointer("").Item(i, pathEscaper.Replace(base.Name)))
		list.tasks = append(list.tasks, c.task(n, siblings))
	}
}

// task compiles one task.
func (c *compiler) task(n *node, siblings dsl.TaskList) *node {
	base := n.task.Base()
	c.origins[n.origin] = true
	b := &Builder{c: c, node: n, siblings: siblings}
	n.condition = b.Condition(base.If)
	n.input = c.input(b, base.Input)
	n.output = c.output(b, base.Output)
	if base.Export != nil {
		n.export = c.transform(b, base.Export.Schema, base.Export.As)
	}
	n.timeout = c.timeout(b, base.Timeout)
	n.atMostOnce, n.soft = base.Engine.AtMostOnce, base.Engine.SoftDeadline
	c.program.needsQueue(base.Engine.Queue)
	if jump := b.Jump(base.Pointer, base.Then); jump != nil {
		n.then = *jump
	}
	if !c.inExtension {
		n.extensions = c.extend(n.task)
		for _, e := range n.extensions {
			n.lists = append(n.lists, e.lists()...)
		}
	}
	i := slices.IndexFunc(c.config.Kinds, func(k Kind) bool { return k.Kind == n.task.Kind() })
	if i < 0 {
		c.report("SW801", base.Pointer, fmt.Sprintf("running `%s` tasks is not supported yet", n.task.Kind().Words()),
			"the document is valid; this version of swrun cannot run it")
		return n
	}
	n.kind = &c.config.Kinds[i]
	n.body = n.kind.Compile(b, n.task)
	return n
}

func (c *compiler) input(b *Builder, input *dsl.Input) transform {
	if input == nil {
		return transform{}
	}
	return c.transform(b, input.Schema, input.From)
}

func (c *compiler) output(b *Builder, output *dsl.Output) transform {
	if output == nil {
		return transform{}
	}
	return c.transform(b, output.Schema, output.As)
}

// transform compiles a schema and a template that reshapes data, each of which may be absent.
func (c *compiler) transform(b *Builder, schema *dsl.Schema, as dsl.Value) transform {
	return transform{schema: c.schema(schema), value: b.Value(as)}
}

func (c *compiler) timeout(b *Builder, t *dsl.Timeout) *Duration {
	if t == nil {
		return nil
	}
	after := c.workflow.TimeoutAfter(t)
	if after == nil && t.Use.Name != "" {
		b.Add(t.Use.Undefined())
		return nil
	}
	return b.Duration(after)
}

func (c *compiler) jump(at dsl.Pointer, then string, siblings dsl.TaskList) Jump {
	d, index, ok := siblings.Target(then)
	if !ok {
		c.add(dsl.UndefinedTarget(at, then))
	}
	return Jump{Directive: d, Index: index}
}

// function is the key of a compiled function. The extension belongs to it because functions that an extension calls are not extended themselves.
type function struct {
	origin      dsl.Pointer
	inExtension bool
}

// function compiles a function's task once. The pointers of its tasks follow the pointer of each call.
func (c *compiler) function(origin dsl.Pointer, task dsl.Task) *List {
	key := function{origin, c.inExtension}
	if list := c.functions[key]; list != nil {
		return list
	}
	list := &List{name: callList}
	c.functions[key] = list
	list.tasks = []*node{{task: task, origin: origin, segment: "()"}}
	c.task(list.tasks[0], nil)
	return list
}

func (c *compiler) resource(r *dsl.ExternalResource) (data []byte, ok bool) {
	if expr.Delimited(r.Endpoint.URI.Text()) {
		c.report("SW802", r.Endpoint.Pointer, "a schema's location must be a literal URI", "")
		return nil, false
	}
	found, ok := (&Builder{c: c}).Load(r)
	return found.Data, ok
}

func (c *compiler) report(code string, at dsl.Pointer, message, help string) {
	c.add(dsl.Diagnostic{Code: code, Pointer: at, Message: message, Help: help})
}

// add reports d at the value of its pointer.
func (c *compiler) add(d dsl.Diagnostic) {
	d.File, d.Range = c.workflow.Source.File, c.workflow.Source.Value(d.Pointer)
	c.diagnostics = append(c.diagnostics, d)
}

func (c *compiler) syntaxError(at dsl.Pointer, err error) {
	var syntax *expr.SyntaxError
	if !errors.As(err, &syntax) {
		c.report("SW501", at, "jq: "+err.Error(), "")
		return
	}
	c.report("SW501", at, "jq: "+syntax.Msg, "")
	last := &c.diagnostics[len(c.diagnostics)-1]
	last.Range = c.workflow.Source.Within(at, syntax.Offset, syntax.Offset+max(1, len(syntax.Token)))
}

// templateErrors reports each syntax error in a template; shift corrects offsets of text that was wrapped in ${ }.
func (c *compiler) templateErrors(at dsl.Pointer, err error, shift int) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			c.templateErrors(at, e, shift)
		}
		return
	}
	var template *expr.TemplateError
	if errors.As(err, &template) {
		at = pointerTo(at, template.Path)
		moved := *template.Err
		moved.Offset = max(0, moved.Offset+shift)
		err = &moved
	}
	c.syntaxError(at, err)
}

// names returns the keys of m, sorted.
func names[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for name := range m {
		keys = append(keys, name)
	}
	sort.Strings(keys)
	return keys
}
