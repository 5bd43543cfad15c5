package dsl

import (
	"bytes"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// Workflow is a whole document (DSL reference, "Workflow").
type Workflow struct {
	Document Document
	Input    *Input
	Use      Use
	Do       TaskList
	Timeout  *Timeout
	Output   *Output
	Schedule *Schedule
	Evaluate Evaluate

	Source *Source
}

// Document names and describes the workflow.
type Document struct {
	DSL       string // version of the DSL
	Namespace string
	Name      string
	Version   string // semantic version
	Title     string
	Summary   string
	Tags      map[string]any
	Metadata  map[string]any
	Engine    WorkflowEngine // the content of metadata.swrun
}

// String returns namespace/name:version.
func (d Document) String() string { return d.Namespace + "/" + d.Name + ":" + d.Version }

// Use contains the workflow's reusable components by name.
type Use struct {
	Authentications map[string]*Authentication
	Catalogs        map[string]*Endpoint
	Errors          map[string]*ErrorDefinition
	Extensions      []*Extension
	Functions       map[string]Task
	Retries         map[string]*RetryPolicy
	Secrets         []string
	Timeouts        map[string]*Timeout
}

// Extension wraps tasks before and after the tasks it extends (semantics section 13).
type Extension struct {
	Pointer Pointer // /use/extensions/0/name
	Name    string
	Extend  string // call, composite, emit, for, listen, raise, run, set, switch, try, wait or all
	When    Expression
	Before  TaskList
	After   TaskList
}

// Extends reports whether the extension applies to a task's kind.
func (e *Extension) Extends(t Task) bool {
	return slices.Contains([]string{"all", string(t.Kind()), t.Traits().Group}, e.Extend)
}

// Schedule specifies when instances start automatically.
type Schedule struct {
	Every *Duration
	Cron  string
	After *Duration
	On    *EventStrategy
	Read  string // data (default), envelope or raw
}

// Kinds returns its properties that specify when instances start.
func (s *Schedule) Kinds() (all []string) {
	for name, has := range map[string]bool{"every": s.Every != nil, "cron": s.Cron != "", "after": s.After != nil, "on": s.On != nil} {
		if has {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// aWorkflow names a whole document in messages.
const aWorkflow = "a workflow"

func (p *parser) workflow(root *yaml.Node) *Workflow {
	o := p.object(root, "", aWorkflow, "document", "input", "use", "do", "timeout", "output", "schedule", "evaluate")
	w := &Workflow{
		Source:   p.src,
		Document: p.document(o),
		Input:    p.input(o),
		Use:      p.use(o),
		Do:       o.tasks("do"),
		Timeout:  p.timeout(o),
		Output:   p.output(o),
		Schedule: p.schedule(o),
		Evaluate: p.evaluate(o),
	}
	o.require("document", "do")
	if n := o.value("document"); n != nil && w.Timeout == nil { // in the wrong place, which was reported
		w.Timeout = p.timeout(&object{p: p, node: n, at: Pointer("").Key("document")})
	}
	return w
}

func (p *parser) document(parent *object) Document {
	n := parent.value("document")
	if n == nil {
		return Document{}
	}
	o := p.object(n, parent.at.Key("document"), "`document`",
		"dsl", "namespace", "name", "version", "title", "summary", "tags", "metadata", "?timeout",
		"?do", "?input", "?output", "?use", "?schedule", "?evaluate")
	parent.reportTooDeep(o, "do", "input", "output", "use", "schedule", "evaluate")
	if misplaced := o.value("timeout"); misplaced != nil {
		p.misplacedTimeout(o, misplaced)
	}
	d := Document{
		DSL: o.version("dsl"), Namespace: o.name("namespace"), Name: o.name("name"), Version: o.version("version"),
		Title: o.text("title"), Summary: o.text("summary"), Tags: o.mapping("tags"), Metadata: o.mapping("metadata"), Engine: o.workflowEngine(),
	}
	o.require("dsl", "namespace", "name", "version")
	p.checkDSL(o, d.DSL)
	return d
}

// misplacedTimeout reports a timeout under `document`, as on a published page (semantics 1.7b).
func (p *parser) misplacedTimeout(o *object, n *yaml.Node) {
	key := o.key("timeout")
	d := Diagnostic{
		Code: "SW118", Message: "`timeout` does not belong to `document`", Range: p.src.RangeOf(key), Label: "move it to the top level",
		Pointer: o.at.Key("timeout"), Help: "a workflow's timeout stands beside `document` and `do`",
	}
	_, top := source.Child(p.src.Root, "timeout")
	inOneLine := n.Style&yaml.FlowStyle == 0 || bytes.Contains(p.src.Line(n.Line), []byte("}"))
	if o.node.Style&yaml.FlowStyle == 0 && top == nil && inOneLine {
		d.Fix = p.src.MoveToEnd(key, n)
	}
	p.add(d)
}

func (p *parser) use(parent *object) Use {
	n := parent.value("use")
	if n == nil {
		return Use{}
	}
	o := p.object(n, parent.at.Key("use"), "`use`",
		"authentications", "catalogs", "errors", "extensions", "functions", "retries", "secrets", "timeouts")
	return Use{
		Authentications: named(o, "authentications", (*parser).topAuthentication),
		Catalogs:        named(o, "catalogs", (*parser).catalog),
		Errors:          named(o, "errors", (*parser).errorDefinition),
		Functions:       functions(o),
		Retries:         named(o, "retries", (*parser).retryPolicy),
		Timeouts:        named(o, "timeouts", (*parser).timeoutDefinition),
		Secrets:         o.texts("secrets"),
		Extensions:      p.extensions(o),
	}
}

// named decodes a map of reusable components.
func named[T any](o *object, key string, decode func(*parser, *yaml.Node, Pointer) T) map[string]T {
	entries := o.entries(key)
	if entries == nil {
		return nil
	}
	decoded := make(map[string]T, len(entries))
	for _, e := range entries {
		decoded[e.key.Value] = decode(o.p, e.value, e.at)
	}
	return decoded
}

func functions(o *object) map[string]Task {
	decoded := map[string]Task{}
	for _, e := range o.entries("functions") {
		decoded[e.key.Value] = o.p.task(e.key.Value, e.value, e.at)
	}
	return decoded
}

func (p *parser) extensions(parent *object) []*Extension {
	var all []*Extension
	for i, n := range parent.list("extensions") {
		e, ok := p.item(n, parent.at.Key("extensions").Index(i), listedExtension())
		if !ok {
			continue
		}
		o := p.object(e.value, e.at, "an extension", "extend", "when", "before", "after")
		o.require("extend")
		o.idleWithout("an extension without `before` and `after` does nothing",
			"write the tasks that run around others below `before` or `after`, or remove the extension", "before", "after")
		all = append(all, &Extension{
			Pointer: e.at, Name: e.key.Value, When: o.expression("when"), Before: o.tasks("before"), After: o.tasks("after"),
			Extend: o.enum("extend", "call", "composite", "emit", "for", "listen", "raise", "run", "set", "switch", "try", "wait", "all"),
		})
	}
	return all
}

func (p *parser) schedule(parent *object) *Schedule {
	n := parent.value("schedule")
	if n == nil {
		return nil
	}
	o := p.object(n, parent.at.Key("schedule"), "`schedule`", "every", "cron", "after", "on", "read")
	if o.broken {
		return nil
	}
	s := &Schedule{
		Every: o.duration("every"), Cron: o.text("cron"), After: o.duration("after"), On: o.strategy("on", false),
		Read: o.enum("read", "data", "envelope", "raw"),
	}
	if o.value("read") != nil && o.value("on") == nil && !o.misspelt["on"] {
		o.reportWith("SW124", "read", "`read` says how the events of `on` are read, but there is no `on`", "remove `read`, or write `on` with the events")
	}
	return s
}
