package dsl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// keyword is a property that determines the kind of a task.
type keyword struct {
	name  string
	kind  Kind     // empty if the value of the keyword selects one of several kinds
	also  []string // further properties beside the keyword
	parse func(*parser, *object, TaskBase) Task
}

func keywords() []keyword {
	return []keyword{
		{"call", "", []string{"with"}, parseCall},
		{"do", KindDo, nil, parseDo},
		{"emit", KindEmit, nil, parseEmit},
		{"for", KindFor, []string{"while", "do"}, parseFor},
		{"fork", KindFork, nil, parseFork},
		{"listen", KindListen, []string{"foreach"}, parseListen},
		{"raise", KindRaise, nil, parseRaise},
		{"run", "", nil, parseRun},
		{"set", KindSet, nil, parseSet},
		{"switch", KindSwitch, nil, parseSwitch},
		{"try", KindTry, []string{"catch"}, parseTry},
		{"wait", KindWait, nil, parseWait},
	}
}

func keywordNames() []string {
	var names []string
	for _, k := range keywords() {
		names = append(names, k.name)
	}
	return names
}

// insideTasks returns the properties of tasks whose objects authors confuse with the task itself: they write `then` into `with`.
func insideTasks() []string {
	return []string{"with", "for", "fork", "emit", "listen", "raise", "run"}
}

func baseProperties() []string {
	return []string{"if", "input", "output", "export", "timeout", "then", "metadata"}
}

// task decodes one task, whose keyword determines its kind. A task without a keyword becomes an empty `do`, so that flow directives still find its name.
func (p *parser) task(name string, n *yaml.Node, at Pointer) Task {
	unknown := &DoTask{TaskBase: TaskBase{Pointer: at, Name: name}}
	if n.Kind != yaml.MappingNode {
		p.wrongType(n, at, "the task `"+name+"`", objects)
		return unknown
	}
	k, ok := p.keyword(name, n, at)
	if !ok {
		if _, then := source.Child(n, "then"); then != nil && source.IsText(then) {
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
	if key, value := source.Child(n, k.name); source.IsNull(value) {
		(&object{p: p, node: n, at: at, what: what}).reportNull(key)
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
	if i := slices.IndexFunc(found, func(k keyword) bool { return k.name == "for" }); i >= 0 { // its `do` is not a keyword
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
		Pointer: at, Range: p.src.RangeOf(keys[1]), Related: related(p.src.RangeOf(keys[0]), "the first one"),
		Help: "a task is of one kind; make two tasks of it",
	})
	return keyword{}, false
}

// misspeltFor reports a misspelt `for` beside a `do`: without it, the task would be taken for a `do`. It returns the properties
// that must not be reported again.
func (p *parser) misspeltFor(n *yaml.Node, at Pointer) []string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if slices.Contains(append(baseProperties(), "do"), key.Value) || otherKeyFor(key.Value, []string{"for"}) == "" {
			continue
		}
		d := Diagnostic{Code: "SW115", Message: fmt.Sprintf("`%s` is not a keyword of a task", key.Value), Pointer: at, Range: p.src.RangeOf(key)}
		d = p.src.otherKey(d, key, []string{"for"})
		d.Help = keywordElsewhere(key.Value)
		p.add(d)
		return []string{key.Value, "while"}
	}
	return nil
}

// besideKeywords returns the properties that some tasks have beside their keyword.
func besideKeywords() []string { return []string{"with", "while", "catch", "foreach"} }

// oneOfKeywords begins the help for a task that resembles no other one.
const oneOfKeywords = "a task has one of: "

func (p *parser) noKeyword(name string, n *yaml.Node, at Pointer) {
	names := keywordNames()
	key, value, _ := p.src.find(at)
	d := Diagnostic{
		Code: "SW115", Message: fmt.Sprintf("the task `%s` has no keyword that says what it does", name), Pointer: at, Range: p.src.RangeOf(key),
		Expected: names, Help: oneOfKeywords + strings.Join(names, " "),
	}
	if help := keywordElsewhere(name); len(n.Content) == 0 && help != "" {
		d.Help = help
	}
	if _, then := source.Child(n, "then"); then != nil && hasIf(n) {
		d.Help = "a task does something: write `switch: [{ yes: { when: .x, then: end } }]` for a condition alone"
		if then.Kind != yaml.ScalarNode {
			d.Range, d.Message, d.Help = p.src.RangeOf(then), "`then` takes one directive, and no tasks", "write the tasks below `do`, beside `if`: `if: .x` and `do: [...]`"
		}
	}
	if value == n {
		d = p.wordForKeyword(d, n)
	}
	p.add(p.withOtherWords(d, n))
}

// wordForKeyword makes an error about a task without a keyword one about the property that stands for it: the first one that has a replacement, or else
// the first unknown one.
func (p *parser) wordForKeyword(d Diagnostic, task *yaml.Node) Diagnostic {
	first := d
	for i := 0; i+1 < len(task.Content); i += 2 {
		key := task.Content[i]
		help := stateElsewhere(key, task.Content[i+1])
		if help == "" && slices.Contains(append(baseProperties(), besideKeywords()...), key.Value) {
			continue
		}
		named := d
		named.Range, named.Message = p.src.RangeOf(key), fmt.Sprintf("`%s` is not a keyword of a task", key.Value)
		if help != "" {
			named.Help = help
			return named
		}
		if named = p.src.otherKey(named, key, keywordNames()); named.Label != "" {
			return named
		}
		if first.Range == d.Range {
			first = named
		}
	}
	return first
}

// noProperty is said of a word that resembles no property of a task.
const noProperty = "no task has this property"

// withOtherWords adds to an error about a task without a keyword the other properties of the task that no task has, each with its remedy.
func (p *parser) withOtherWords(d Diagnostic, task *yaml.Node) Diagnostic {
	known := slices.Concat(baseProperties(), besideKeywords(), keywordNames())
	for i := 0; i+1 < len(task.Content); i += 2 {
		key := task.Content[i]
		at, help := p.src.RangeOf(key), oneLine(elsewhere(key.Value, baseProperties()))
		switch {
		case slices.Contains(known, key.Value):
		case at == d.Range:
			if d.Label == "" && help != "" && strings.HasPrefix(d.Help, oneOfKeywords) {
				d.Label = help
			}
		case help != "" || stateElsewhere(key, task.Content[i+1]) != "":
			d = p.src.alsoSays(d, key, cmp.Or(help, stateElsewhere(key, task.Content[i+1])))
		default:
			d = p.src.alsoSays(d, key, cmp.Or(p.src.otherKey(Diagnostic{}, key, known).Label, noProperty))
		}
	}
	return d
}

// alsoSays adds to an error a word at another place, with its remedy. A remedy that the error contains already is not repeated.
func (s *Source) alsoSays(d Diagnostic, word *yaml.Node, help string) Diagnostic {
	first := ""
	if help == d.Help || help == d.Label {
		first = s.wordAt(d.Range)
	}
	if i := slices.IndexFunc(d.Related, func(r source.Related) bool { return r.Label == help }); i >= 0 && help != noProperty {
		first = s.wordAt(d.Related[i].Range)
	}
	if first != "" {
		help = fmt.Sprintf("this has the remedy of `%s`", first)
	}
	d.Related = append(d.Related, source.Related{Range: s.RangeOf(word), Label: help})
	return d
}

// wordAt returns the text at a range of the document.
func (s *Source) wordAt(at source.Range) string {
	return oneLine(string(s.Text[at.Start.Offset:at.End.Offset]))
}

// hasIf reports whether a task has a condition.
func hasIf(n *yaml.Node) bool {
	condition, _ := source.Child(n, "if")
	return condition != nil
}

// endsByProperty reports `end: true`, which is `then: end` in older versions of the DSL.
func (p *parser) endsByProperty(n *yaml.Node, at Pointer) bool {
	key, value := source.Child(n, "end")
	if key == nil || !source.IsBool(value) {
		return false
	}
	d := Diagnostic{
		Code: "SW106", Message: "`end` is not a property of a task", Pointer: at.Key("end"), Range: p.src.RangeOf(key),
		Help: "the last task of the list ends the workflow by itself; leave `end` out",
	}
	if value.Value[0] == 't' || value.Value[0] == 'T' {
		d.Label, d.Help = didYouMean("then: end"), "a workflow also ends by itself after its last task"
		if then, _ := source.Child(n, "then"); then == nil {
			d.Fix = append(p.src.Replace(key, "then"), p.src.ReplaceRaw(value, p.src.Word("end"))...)
		}
	}
	p.add(d)
	return true
}
