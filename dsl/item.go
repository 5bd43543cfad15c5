package dsl

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// tasks decodes a list of tasks.
func (o *object) tasks(name string) TaskList {
	n := o.value(name)
	if n == nil {
		return nil
	}
	at := o.at.Key(name)
	list := TaskList{}
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			e, ok := o.p.item(item, at.Index(i), listedTask())
			if !ok {
				continue
			}
			list = o.p.appendTask(list, e)
			for j := 2; j+1 < len(item.Content) && e.value.Kind == yaml.MappingNode && e.value == item.Content[1]; j += 2 {
				list = o.p.appendTask(list, entry{item.Content[j], item.Content[j+1], at.Index(i).Key(item.Content[j].Value)})
			}
		}
	case yaml.MappingNode:
		o.p.mapForList(n, at, fmt.Sprintf("`%s` must be a list of tasks", name), "task")
		if isOneTask(n) {
			return nil
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			list = o.p.appendTask(list, entry{key, n.Content[i+1], at.Key(key.Value)})
		}
	default:
		o.p.wrongType(n, at, fmt.Sprintf("`%s` must be a list of tasks", name))
	}
	return list
}

// maxName is the greatest length of a task's name, in characters.
const maxName = 128

func (p *parser) appendTask(list TaskList, e entry) TaskList {
	d := Diagnostic{Code: "SW120", Pointer: e.at, Range: p.src.span(e.key)}
	switch name := e.key.Value; {
	case e.key.Kind != yaml.ScalarNode: // reported as a key
	case slices.Contains(directiveWords(), name):
		d.Code, d.Message = "SW132", fmt.Sprintf("no `then` can lead to a task called `%s`: `then: %s` means something else", name, name)
		d.Help = "give it another name"
	case strings.TrimSpace(name) == "":
		d.Message = "a task must have a name"
	case utf8.RuneCountInString(name) > maxName:
		d.Message = fmt.Sprintf("the name of a task has at most %d characters, got %d", maxName, utf8.RuneCountInString(name))
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		d.Message = fmt.Sprintf("the name of a task must be printable, got %s", quoted(name))
	}
	if d.Message != "" {
		p.add(d)
	}
	return append(list, p.task(e.key.Value, e.value, e.at))
}

// listed is what stands in a list under a name of its own.
type listed struct {
	what    string                // for messages: a task
	example string                // a name for one
	own     []string              // the properties that it may have
	is      func(*yaml.Node) bool // whether a value is one
}

func listedTask() listed {
	own := slices.Concat(baseProperties(), keywordNames(), []string{"with", "while", "catch", "foreach"})
	return listed{"a task", "step1", own, hasKeyword}
}

// hasKeyword reports whether an object is a task: one of its keys is a keyword, or a misspelt one.
func hasKeyword(n *yaml.Node) bool {
	for i := 0; isObject(n) && i+1 < len(n.Content); i += 2 {
		if otherKeyFor(n.Content[i].Value, keywordNames()) != "" {
			return true
		}
	}
	return false
}

func keywordNames() []string {
	var names []string
	for _, k := range keywords() {
		names = append(names, k.name)
	}
	return names
}

func listedCase() listed { return listed{"a case", "case1", []string{"when", "then"}, isObject} }

func listedExtension() listed {
	return listed{"an extension", "extension1", []string{"extend", "when", "before", "after"}, isObject}
}

func isObject(n *yaml.Node) bool { return n.Kind == yaml.MappingNode }

// item decodes a list item that has one key: the name of what its value is.
func (p *parser) item(n *yaml.Node, at Pointer, l listed) (entry, bool) {
	what := l.what
	if n.Kind != yaml.MappingNode {
		p.wrongType(n, at, what+" in a list must be an object with one key, its name")
		return entry{}, false
	}
	if e, ok := p.nameless(n, at, l); ok {
		return e, true
	}
	if e, ok := p.namedInside(n, at, l); ok {
		return e, true
	}
	if what != "a task" {
		p.names(n, at, "the name of "+what)
	}
	if len(n.Content) == 2 {
		key := n.Content[0]
		return entry{key, n.Content[1], at.Key(key.Value)}, true
	}
	d := Diagnostic{
		Code: "SW121", Message: fmt.Sprintf("%s in a list must have exactly one key, its name, got %d", what, len(n.Content)/2),
		Pointer: at, Range: p.src.span(n),
	}
	if len(n.Content) == 0 {
		p.add(d)
		return entry{}, false
	}
	key, value := n.Content[0], n.Content[1]
	d.Range = p.src.span(n.Content[2])
	block := n.Style&yaml.FlowStyle == 0
	if isNull(value) { // the properties are not indented enough
		d.Label, d.Help = fmt.Sprintf("does this belong to `%s`?", key.Value), "indent the properties deeper than the name"
		value = &yaml.Node{Kind: yaml.MappingNode, Line: n.Content[2].Line, Column: n.Content[2].Column, Content: n.Content[2:]}
		if block {
			d.Fix = p.src.indented(n.Content[2].Line, p.src.lastLine(n))
		}
	} else {
		d.Label, d.Help = "a list item of its own?", "begin each with its own `-`"
		for i := 2; block && i+1 < len(n.Content); i += 2 {
			d.Fix = append(d.Fix, p.dashed(n.Content[i])...)
		}
	}
	p.add(d)
	return entry{key, value, at.Key(key.Value)}, true
}

// nameless reports an item that holds the properties of what it is without a name around them, and decodes it as if it had one.
func (p *parser) nameless(n *yaml.Node, at Pointer, l listed) (entry, bool) {
	if len(n.Content) == 0 || isNull(n.Content[1]) {
		return entry{}, false
	}
	complete := true // each value is what a name stands for
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains(l.own, n.Content[i].Value) {
			return entry{}, false
		}
		complete = complete && l.is(n.Content[i+1])
	}
	if complete {
		return entry{}, false
	}
	first := n.Content[0]
	p.add(Diagnostic{
		Code: "SW121", Message: fmt.Sprintf("%s in a list needs a name around its properties", l.what), Pointer: at,
		Range: p.src.span(first), Label: "its name is missing",
		Help: fmt.Sprintf("write `- %s:` and indent the properties below it", l.example),
	})
	return entry{first, n, at}, true
}

// namedInside reports an item whose name stands among its properties, as other languages have it, and decodes it under that name.
func (p *parser) namedInside(n *yaml.Node, at Pointer, l listed) (entry, bool) {
	if len(n.Content) < 4 || !slices.Contains([]string{"name", "id"}, n.Content[0].Value) || n.Content[1].Value == "" || !isText(n.Content[1]) {
		return entry{}, false
	}
	for i := 2; i+1 < len(n.Content); i += 2 {
		if !slices.Contains(l.own, n.Content[i].Value) {
			return entry{}, false
		}
	}
	name, inner := n.Content[1], *n
	inner.Content = n.Content[2:]
	p.add(Diagnostic{
		Code: "SW121", Message: fmt.Sprintf("the name of %s stands around its properties, not among them", l.what), Pointer: at,
		Range: p.src.span(n.Content[0]), Help: fmt.Sprintf("write `- %s:` and indent the properties below it", name.Value),
	})
	return entry{name, &inner, at.Key(name.Value)}, true
}

// indented indents lines by two more spaces.
func (s *Source) indented(first, last int) []Edit {
	var edits []Edit
	for line := first; line <= last; line++ {
		if len(s.Line(line)) > 0 {
			start := s.position(s.lines[line-1])
			edits = append(edits, Edit{Range: Range{start, start}, NewText: "  ", Safe: true})
		}
	}
	return edits
}

// dashed makes a list item of a property by a dash in the place of the indentation before it.
func (p *parser) dashed(key *yaml.Node) []Edit {
	start := p.src.start(key)
	if start < 2 || string(p.src.Text[start-2:start]) != "  " {
		return nil
	}
	return []Edit{{Range: Range{p.src.position(start - 2), p.src.position(start)}, NewText: "- ", Safe: true}}
}

// isOneTask reports whether an object in the place of a list of tasks is a task itself, without a name.
func isOneTask(n *yaml.Node) bool {
	return slices.ContainsFunc(keywords(), func(k keyword) bool {
		_, value := child(n, k.name)
		return value != nil && !isTaskBody(value)
	})
}

// isTaskBody reports whether a node has a keyword of a task.
func isTaskBody(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && slices.ContainsFunc(keywords(), func(k keyword) bool { key, _ := child(n, k.name); return key != nil })
}

// mapForList reports tasks or cases that are written as one object, and how to make a list of them.
func (p *parser) mapForList(n *yaml.Node, at Pointer, message, item string) {
	d := Diagnostic{
		Code: "SW113", Message: message + ", got an object", Pointer: at, Range: p.src.span(n),
		Label: fmt.Sprintf("make each %s a list item", item), Help: fmt.Sprintf("begin each %s with `- `", item),
	}
	if name := dashed(n); name != "" {
		d.Label, d.Help = "is this an item of the list?", fmt.Sprintf("begin each %s with a hyphen and a space: `- %s:`", item, name)
	} else if isOneTask(n) {
		d.Label, d.Help = "make it a list item with a name", "write `- step1:` and indent the task below it"
	} else if n.Style&yaml.FlowStyle == 0 {
		for i := 0; i+1 < len(n.Content); i += 2 {
			start := p.src.position(p.src.start(n.Content[i]))
			d.Fix = append(d.Fix, Edit{Range: Range{start, start}, NewText: "- ", Safe: true})
			d.Fix = append(d.Fix, p.src.indented(n.Content[i].Line+1, p.src.lastLine(n.Content[i+1]))...)
		}
	}
	p.add(d)
}

// dashed returns the name in the first key that begins with what was meant as the dash of a list item, or "": a hyphen without a
// space behind it, or a sign that looks like one.
func dashed(n *yaml.Node) string {
	const dashes = "-\u2010\u2011\u2012\u2013\u2014\u2022\u2212"
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Style == 0 && strings.IndexAny(key.Value, dashes) == 0 {
			return strings.TrimLeft(key.Value, dashes+" ")
		}
	}
	return ""
}

// keyword tells which properties make a task one of its kind.
type keyword struct {
	name  string
	also  []string // further properties beside the keyword
	parse func(*parser, *object, TaskBase) Task
}

func keywords() []keyword {
	return []keyword{
		{"call", []string{"with"}, parseCall},
		{"do", nil, parseDo},
		{"emit", nil, parseEmit},
		{"for", []string{"while", "do"}, parseFor},
		{"fork", nil, parseFork},
		{"listen", []string{"foreach"}, parseListen},
		{"raise", nil, parseRaise},
		{"run", nil, parseRun},
		{"set", nil, parseSet},
		{"switch", nil, parseSwitch},
		{"try", []string{"catch"}, parseTry},
		{"wait", nil, parseWait},
	}
}

// insideTasks are the properties of tasks whose objects are taken for the task itself.
func insideTasks() []string {
	return []string{"with", "for", "fork", "emit", "listen", "raise", "run"}
}

func baseProperties() []string {
	return []string{"if", "input", "output", "export", "timeout", "then", "metadata"}
}

// task decodes one task: its kind is told by its keyword, and only that kind is decoded. Without a keyword it is an
// empty list of tasks, so that its name is known all the same.
func (p *parser) task(name string, n *yaml.Node, at Pointer) Task {
	unknown := &DoTask{TaskBase: TaskBase{Pointer: at, Name: name}}
	if n.Kind != yaml.MappingNode {
		p.wrongType(n, at, fmt.Sprintf("the task `%s` must be an object", name))
		return unknown
	}
	k, ok := p.keyword(name, n, at)
	if !ok {
		if _, then := child(n, "then"); then != nil && isText(then) {
			unknown.Then = then.Value
		}
		return unknown
	}
	allowed := append([]string{k.name}, k.also...)
	if k.name == "do" {
		allowed = append(allowed, p.misspeltFor(n, at)...)
	}
	if p.endsByProperty(n, at) {
		allowed = append(allowed, "?end")
	}
	what := fmt.Sprintf("a `%s` task", k.name)
	if key, value := child(n, k.name); isNull(value) {
		(&object{p: p, node: n, at: at, what: what}).valueless(key)
		return unknown
	}
	o := p.object(n, at, what, append(allowed, baseProperties()...)...)
	base := TaskBase{
		Pointer: at, Name: name, If: o.expression("if"), Input: p.input(o), Output: p.output(o), Export: p.export(o),
		Timeout: p.timeout(o), Then: o.text("then"), Metadata: o.mapping("metadata"), Engine: o.taskEngine(),
	}
	return k.parse(p, o, base)
}

// keyword finds the keyword of a task.
func (p *parser) keyword(name string, n *yaml.Node, at Pointer) (keyword, bool) {
	var found []keyword
	var keys []*yaml.Node
	all := keywords()
	for i := 0; i+1 < len(n.Content); i += 2 {
		for _, k := range all {
			if n.Content[i].Value == k.name && !slices.ContainsFunc(found, func(f keyword) bool { return f.name == k.name }) {
				found, keys = append(found, k), append(keys, n.Content[i])
			}
		}
	}
	if i := slices.IndexFunc(found, func(k keyword) bool { return k.name == "for" }); i >= 0 { // its `do` is no keyword
		if j := slices.IndexFunc(found, func(k keyword) bool { return k.name == "do" }); j >= 0 {
			found, keys = slices.Delete(found, j, j+1), slices.Delete(keys, j, j+1)
		}
	}
	switch len(found) {
	case 0:
		p.noKeyword(name, n, at)
		return keyword{}, false
	case 1:
		return found[0], true
	}
	p.add(Diagnostic{
		Code: "SW114", Message: fmt.Sprintf("the task `%s` has two keywords, `%s` and `%s`", name, found[0].name, found[1].name),
		Pointer: at, Range: p.src.span(keys[1]), Related: []Related{{p.src.span(keys[0]), "the first one"}},
		Help: "a task is of one kind; make two tasks of it",
	})
	return keyword{}, false
}

// misspeltFor reports the word that stands for `for` beside a `do`, which alone is a keyword too. It returns the
// properties that are then no news.
func (p *parser) misspeltFor(n *yaml.Node, at Pointer) []string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(append(baseProperties(), "do"), key.Value) || otherKeyFor(key.Value, []string{"for"}) == "" {
			continue
		}
		d := Diagnostic{Code: "SW115", Message: fmt.Sprintf("`%s` is no keyword of a task", key.Value), Pointer: at, Range: p.src.span(key)}
		p.add(p.src.otherKey(d, key, []string{"for"}))
		return []string{key.Value, "while"}
	}
	return nil
}

func (p *parser) noKeyword(name string, n *yaml.Node, at Pointer) {
	names := keywordNames()
	key, value, _ := p.src.find(at)
	d := Diagnostic{
		Code: "SW115", Message: fmt.Sprintf("nothing tells what the task `%s` does", name), Pointer: at, Range: p.src.span(key),
		Expected: names, Help: "a task has one of: " + strings.Join(names, " "),
	}
	for i := 0; value == n && i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(append(baseProperties(), "with", "while", "catch", "foreach"), key.Value) {
			continue
		}
		d.Range, d.Message = p.src.span(key), fmt.Sprintf("`%s` is no keyword of a task", key.Value)
		if d = p.src.otherKey(d, key, names); d.Label != "" {
			break
		}
	}
	p.add(d)
}

// variable decodes the name of a variable that expressions see (semantics 1.5).
func (o *object) variable(name, otherwise string) string {
	text := o.textOr(name, otherwise)
	if n := o.value(name); n == nil || text == "" { // absent, or reported
		return otherwise
	}
	variable := strings.TrimPrefix(text, "$")
	switch {
	case !variablePattern.MatchString(variable):
		o.report("SW120", name, fmt.Sprintf("%s is no name of a variable: letters, digits and _ are allowed", quoted(variable)))
		return otherwise
	case slices.Contains(builtInVariables(), variable):
		o.report("SW120", name, fmt.Sprintf("`$%s` is always there and cannot be bound", variable))
		return otherwise
	}
	return variable
}

// builtInVariables are the arguments that every expression has.
func builtInVariables() []string {
	return []string{"context", "input", "output", "secrets", "secret", "authorization", "task", "workflow", "runtime"}
}
