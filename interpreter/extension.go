package interpreter

import (
	"github.com/swrun/swrun/dsl"
)

// compiledExtension is an extension with its definition, which specifies the extended tasks.
type compiledExtension struct {
	extension
	definition *dsl.Extension
}

func (e *extension) lists() []*List {
	var lists []*List
	for _, l := range []*List{e.before, e.after} {
		if l != nil {
			lists = append(lists, l)
		}
	}
	return lists
}

func (c *compiler) compileExtensions() {
	c.inExtension = true
	defer func() { c.inExtension = false }()
	b := &Builder{c: c, node: workflowNode}
	for _, e := range c.workflow.Use.Extensions {
		c.extensions = append(c.extensions, &compiledExtension{definition: e, extension: extension{
			when:   b.Condition(e.When),
			before: c.extensionList(e.Pointer, "before", e.Before),
			after:  c.extensionList(e.Pointer, "after", e.After),
		}})
	}
}

func (c *compiler) extensionList(at dsl.Pointer, part string, tasks dsl.TaskList) *List {
	if len(tasks) == 0 {
		return nil
	}
	list := &List{name: string(at.Key(part)[1:]), absolute: true, owner: workflowNode}
	c.fill(list, tasks, at.Key(part))
	return list
}

// extend returns the extensions of a task, in order (semantics section 13).
func (c *compiler) extend(t dsl.Task) []*extension {
	var extensions []*extension
	for _, e := range c.extensions {
		if e.definition.Extends(t) {
			extensions = append(extensions, &e.extension)
		}
	}
	return extensions
}
