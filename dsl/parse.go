package dsl

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/shorten"
)

// Parse reads a workflow document, YAML or JSON, whose name file is only used in messages. It always returns a tree,
// as complete as the text allows, and all that is wrong with the text's form, sorted by position.
func Parse(file string, text []byte) (*Workflow, Diagnostics) {
	tree, problems := source.Read(file, text)
	p := &parser{src: &Source{Tree: tree}, severities: map[string]Severity{}, reportedEmpty: map[*yaml.Node]bool{}}
	for _, r := range Rules() {
		p.severities[r.Code] = r.Severity
	}
	for _, problem := range problems {
		p.keep(Diagnostic{
			Code: problem.Code, Message: problem.Message, Range: problem.Range, Pointer: pointerOf(problem.Path), Related: problem.Related, Help: problem.Help,
		})
	}
	w := &Workflow{Source: p.src}
	if tree.Root != nil && !p.otherLanguage(tree.Root) {
		w = p.workflow(tree.Root)
		p.checkQuotes(tree.Root, "")
	}
	p.found.Sort()
	for _, d := range p.found.Errors() {
		p.src.errorPointers = append(p.src.errorPointers, d.Pointer)
	}
	return w, p.found
}

// parser decodes one document and collects what is wrong with it.
type parser struct {
	src           *Source
	found         Diagnostics
	severities    map[string]Severity
	reportedEmpty map[*yaml.Node]bool // the empty expressions that were reported: some values are read twice
}

// add reports d, with the alias by which its text is used.
func (p *parser) add(d Diagnostic) { p.keep(p.src.withAlias(d)) }

// keep reports d; its severity is that of its rule.
func (p *parser) keep(d Diagnostic) {
	d.File, d.Severity = p.src.File, p.severities[d.Code]
	d.Message, d.Label, d.Help = oneLine(d.Message), oneLine(d.Label), oneLine(d.Help)
	if p.src.HasAnchors() && slices.ContainsFunc(p.found, func(f Diagnostic) bool {
		return f.Code == d.Code && f.Range == d.Range && f.Message == d.Message
	}) {
		return // the same text, used once more
	}
	p.found = append(p.found, d)
}

// oneLine makes text fit to be printed, whatever the document has put into it.
func oneLine(text string) string {
	const most = 400
	text = shorten.To(text, most)
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}

func (p *parser) workflow(root *yaml.Node) *Workflow {
	o := p.object(root, "", "a workflow", "document", "input", "use", "do", "timeout", "output", "schedule", "evaluate")
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
	if n := o.value("document"); n != nil && w.Timeout == nil { // it stands in the wrong place, which was reported
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

// misplacedTimeout reports a timeout under document, where a published page shows it (semantics 1.7b).
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
		o.report("SW124", "read", "`read` tells how the events of `on` are read, and there is no `on`")
	}
	return s
}
