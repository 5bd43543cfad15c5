package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// outputShape is the known shape of the output of a task.
type outputShape struct {
	at     Pointer // of the task
	what   string  // in words: a list
	events *EventStrategy
	data   bool   // the output contains only the data of events
	read   string // the property that specifies how events are read
	help   string
}

// checkOutputShapes: SW508, members that the output of the task before cannot have.
func checkOutputShapes(c *checker) {
	readers := map[Task]outputShape{}
	producers := map[Task]outputShape{}
	c.lists(func(owner Task, tasks TaskList) {
		for i, t := range tasks {
			shape, known := shapeOf(t)
			if !known {
				continue
			}
			producers[t] = shape
			base := t.Base()
			reshaped := base.Output != nil && base.Output.As.Data != nil
			if reshaped || base.If.Text != "" || owner != nil && owner.Traits().Branches {
				continue
			}
			if i+1 < len(tasks) && c.onlyAfter(tasks, i) {
				addReaders(readers, tasks[i+1], shape)
			}
		}
	})
	if shape, known := c.startShape(); known && len(c.w.Do) > 0 {
		addReaders(readers, c.w.Do[0], shape)
	}
	c.facts(func(e expressionText, facts Facts) {
		if shape, ok := readers[e.task]; ok && e.task != nil && e.readsRaw() {
			c.misread(e, facts, shape)
		}
		if shape, ok := producers[e.task]; ok && e.task != nil && e.readsOutput() {
			c.misread(e, facts, shape)
		}
	})
	c.eventItems()
	c.lengths()
}

// lengths: SW508, the length of a list that is read as a member, as in other languages.
func (c *checker) lengths() {
	c.facts(func(e expressionText, facts Facts) {
		for _, path := range facts.Fields {
			n := len(path)
			if n < 2 || path[n-1] != "length" || !strings.HasSuffix(path[n-2], "s") && path[n-2] != "list" && path[n-2] != "array" {
				continue
			}
			list := "." + strings.Join(path[:n-1], ".")
			c.add(Diagnostic{Code: "SW508", Pointer: e.at, Message: fmt.Sprintf("`%s.length` reads a member called `length`, which a list has not", list),
				Help: fmt.Sprintf("the number of items is `(%s | length)`", list)})
			return
		}
	})
}

// onlyAfter reports whether the task after tasks[i] is reached from tasks[i] alone, and tasks[i] leads to no other place.
func (c *checker) onlyAfter(tasks TaskList, i int) bool {
	for j := range tasks {
		for _, next := range c.following(tasks, j) {
			if next == i+1 && j != i || j == i && next != i+1 {
				return false
			}
		}
	}
	return true
}

// addReaders records that a task receives an input of a known shape, and so does the first task inside it if the task passes its input on.
func addReaders(readers map[Task]outputShape, t Task, shape outputShape) {
	readers[t] = shape
	if in := t.Base().Input; in != nil && in.From.Data != nil {
		return
	}
	if first := t.Traits().First; len(first) > 0 {
		addReaders(readers, first[0], shape)
	}
}

// readsRaw reports whether an expression reads the output of the task before.
func (e expressionText) readsRaw() bool {
	if e.property == propertyIf || e.property == propertyInputFrom {
		return true
	}
	in := e.task.Base().Input
	return (in == nil || in.From.Data == nil) && slices.Contains(inputProperties(), e.property)
}

// readsOutput reports whether an expression reads the untransformed output of its task.
func (e expressionText) readsOutput() bool {
	out := e.task.Base().Output
	within := strings.HasPrefix(string(e.at), string(e.task.Base().Pointer.Key("output"))) ||
		strings.HasPrefix(string(e.at), string(e.task.Base().Pointer.Key("export"))) && (out == nil || out.As.Data == nil)
	return within && (e.property == propertyOutputAs || e.property == propertyExportAs)
}

// shapeOf returns the shape of the output of a task, if it is known.
func shapeOf(t Task) (outputShape, bool) {
	if listen, ok := t.(*ListenTask); ok {
		if listen.ForEach != nil || listen.To == nil {
			return outputShape{}, false
		}
		return eventsShape(listen.Pointer, listen.To, listen.Read, "listen"), true
	}
	return processShape(t.Base().Pointer, t.Traits())
}

func eventsShape(at Pointer, s *EventStrategy, read, reads string) outputShape {
	return outputShape{at: at, what: "a list, of one item for each event", events: s, data: read == "" || read == "data", read: reads,
		help: "write `.[0]` for the first event"}
}

func processShape(at Pointer, run Traits) (outputShape, bool) {
	const all = "`return: all` puts out an object with `code`, `stdout` and `stderr`"
	switch run.Puts {
	case "code":
		return outputShape{at: at, what: "a number, the exit code of the " + run.Program, help: "the number itself is `.`; " + all}, true
	case "text":
		return outputShape{at: at, what: "text, what the " + run.Program + " writes", help: "if it writes JSON, read it by `output: { as: '${ fromjson }' }`; " + all}, true
	}
	return outputShape{}, false
}

// startShape returns the shape of the input of a workflow that only events start.
func (c *checker) startShape() (outputShape, bool) {
	s := c.w.Schedule
	if s == nil || s.On == nil || len(s.Kinds()) != 1 || c.w.Input != nil && c.w.Input.From.Data != nil {
		return outputShape{}, false
	}
	return eventsShape("/schedule/on", s.On, s.Read, "schedule"), true
}

var (
	guardedPath = lazyregexp.New(`\?|\btry\b|(?:^|[^.\w])type\b|\.\.|\bif\b`)
	itemData    = lazyregexp.New(`\.\[\s*\d*\s*\]\.data\b`)
	itemMember  = lazyregexp.New(`\.\[\s*\d*\s*\]\.(type|source|subject)\b`)
)

// misread reports a member that data of a shape cannot have.
func (c *checker) misread(e expressionText, facts Facts, shape outputShape) {
	if guardedPath().MatchString(e.text) {
		return
	}
	d := Diagnostic{Code: "SW508", Pointer: e.at, Help: shape.help, Related: related(c.w.Source.Key(shape.at), "what is read is the output of this")}
	if shape.events != nil && shape.data {
		if d, ok := c.envelopeMember(d, e, shape); ok {
			c.add(d)
			return
		}
	}
	if len(facts.Fields) == 0 {
		return
	}
	field := facts.Fields[0][0]
	d.Message = fmt.Sprintf("there is no `.%s` here: the data is %s", field, shape.what)
	if i := strings.Index(e.text, "."+field); i >= 0 {
		d.Range = c.w.Source.Within(e.at, i, i+len(field)+1)
	}
	c.add(d)
}

// envelopeMember completes d, which is about an expression that may read an attribute of an event in a place where only the data of the event is available.
func (c *checker) envelopeMember(d Diagnostic, e expressionText, shape outputShape) (Diagnostic, bool) {
	member := ""
	if itemData().MatchString(e.text) {
		member = "data"
	} else if m := itemMember().FindStringSubmatch(e.text); m != nil && comparesWithFilter(e.text, shape.events) {
		member = m[1]
	}
	d.Message = fmt.Sprintf("the data of the events is read, so that there is no `.%s` of an event in it", member)
	d.Help = fmt.Sprintf("leave `.%s` out, or add `read: envelope` to `%s` to read whole events", member, shape.read)
	if member != "data" {
		d.Help = fmt.Sprintf("add `read: envelope` to `%s` to read whole events; their data is then in `.data`", shape.read)
	}
	if shape.read == "schedule" {
		d.Code = "SW702"
	}
	return d, member != ""
}

// comparesWithFilter reports whether an expression contains the type or source of a filter as text.
func comparesWithFilter(text string, s *EventStrategy) bool {
	return slices.ContainsFunc(s.Filters(), func(f *EventFilter) bool {
		with, _ := f.With.Data.(map[string]any)
		for _, name := range []string{"type", "source", "subject"} {
			if value, ok := with[name].(string); ok && value != "" && strings.Contains(text, `"`+value+`"`) {
				return true
			}
		}
		return false
	})
}

// eventItems: SW508, `.data` of the variable of a `foreach` that contains the data of an event.
func (c *checker) eventItems() {
	c.facts(func(e expressionText, facts Facts) {
		for _, v := range facts.Variables {
			if len(v.Path) > 0 && v.Path[0] == "data" && c.holdsEventData(e.at, v.Name) {
				c.add(Diagnostic{Code: "SW508", Pointer: e.at, Range: c.named(e, v, "$"),
					Message: fmt.Sprintf("`$%s` is the data of an event, so that there is no `.data` of an event in it", v.Name),
					Help:    "leave `.data` out, or add `read: envelope` to `listen` to read whole events"})
			}
		}
	})
}

// holdsEventData reports whether a variable is the item of a `foreach` around a place, which iterates over the data of events.
func (c *checker) holdsEventData(at Pointer, variable string) (holds bool) {
	Walk(c.w, func(t Task) bool {
		listen, ok := t.(*ListenTask)
		if ok && listen.ForEach != nil && listen.ForEach.Item == variable && within(at, listen.ForEach.Pointer) {
			holds = listen.Read == "" || listen.Read == "data"
		}
		return true
	})
	return holds
}
