package dsl

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/shorten"
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
		o.idleTasks(name)
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
		o.p.wrongType(n, at, "`"+name+"`", taskLists)
	}
	return list
}

// maxName is the maximum length of a task's name, in characters.
const maxName = 128

func (p *parser) appendTask(list TaskList, e entry) TaskList {
	d := Diagnostic{Code: "SW120", Pointer: e.at, Range: p.src.RangeOf(e.key)}
	switch name := e.key.Value; {
	case e.key.Kind != yaml.ScalarNode: // reported as a key
	case slices.Contains(directiveWords(), name):
		d.Code, d.Message = "SW132", fmt.Sprintf("no `then` can lead to a task called `%s`: `then: %s` means something else", name, name)
		d.Help = "give it another name"
	case strings.TrimSpace(name) == "":
		d.Message = "a task must have a name"
	case utf8.RuneCountInString(name) > maxName:
		d.Message = fmt.Sprintf("the name of a task has at most %d characters, got %d", maxName, utf8.RuneCountInString(name))
	case !isPrintable(name):
		d.Message = fmt.Sprintf("the name of a task must be printable, got %s", shorten.Quoted(name))
	}
	if d.Message != "" {
		p.add(d)
	}
	return append(list, p.task(e.key.Value, e.value, e.at))
}

// mapForList reports tasks or cases that are written as one object, with the list that they should be.
func (p *parser) mapForList(n *yaml.Node, at Pointer, message, item string) {
	d := Diagnostic{
		Code: "SW113", Message: message + ", got an object", Pointer: at, Range: p.src.RangeOf(n),
		Label: fmt.Sprintf("make each %s a list item", item), Help: fmt.Sprintf("begin each %s with `- `", item),
	}
	if name := dashed(n); name != "" {
		d.Label, d.Help = "is this an item of the list?", fmt.Sprintf("begin each %s with a hyphen and a space: `- %s:`", item, name)
	} else if isOneTask(n) {
		d.Label, d.Help = "make it a list item with a name", "write `- step1:` and indent the task below it"
	} else if n.Style&yaml.FlowStyle == 0 {
		for i := 0; i+1 < len(n.Content); i += 2 {
			d.Fix = append(d.Fix, p.src.Insert(p.src.OffsetOf(n.Content[i]), "- "))
			d.Fix = append(d.Fix, p.src.Indent(n.Content[i].Line+1, p.src.LastLine(n.Content[i+1]))...)
		}
	}
	p.add(d)
}

// dashed returns the name in the first key that begins with an attempt at the dash of a list item, or "": a hyphen without a space after it, or a
// character that resembles a hyphen.
func dashed(n *yaml.Node) string {
	const dashes = "-\u2010\u2011\u2012\u2013\u2014\u2022\u2212"
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Style == 0 && strings.IndexAny(key.Value, dashes) == 0 {
			return strings.TrimLeft(key.Value, dashes+" \u00a0\u2007\u202f")
		}
	}
	return ""
}

// isOneTask reports whether an object is a task without a name, in the place of a list of tasks.
func isOneTask(n *yaml.Node) bool {
	return slices.ContainsFunc(keywords(), func(k keyword) bool {
		_, value := source.Child(n, k.name)
		return value != nil && !isTaskBody(value)
	})
}

// isTaskBody reports whether a node has a keyword of a task.
func isTaskBody(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode && slices.ContainsFunc(keywords(), func(k keyword) bool { key, _ := source.Child(n, k.name); return key != nil })
}
