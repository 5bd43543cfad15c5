package dsl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
)

// checkCatchData: SW509, data that the tasks of a catch do not see: output of tasks inside the try, and the error as a member of the data.
func checkCatchData(c *checker) {
	Walk(c.w, func(t Task) bool {
		if try, ok := t.(*TryTask); ok {
			c.catchData(try)
		}
		return true
	})
}

func (c *checker) catchData(try *TryTask) {
	lost := map[string]Pointer{}
	for _, t := range try.Try {
		putOut(t, lost)
	}
	known := c.knownMembers(try)
	readers := firstReaders(try.Catch.Do)
	c.facts(func(e expressionText, facts Facts) {
		condition := e.task == Task(try) && slices.Contains([]property{propertyCatchWhen, propertyCatchExceptWhen, propertyRetryWhen, propertyRetryExceptWhen}, e.property)
		reader := e.task != nil && slices.Contains(readers, e.task) && e.readsRaw()
		inside := e.task != nil && slices.Contains(try.Catch.Do, e.task) && e.readsRaw()
		for _, path := range facts.Fields {
			at, isLost := lost[path[0]]
			switch {
			case (condition || inside) && path[0] == "error" && len(path) > 1 && isErrorMember(path[1]) && !known["error"]:
				c.add(c.notTheError(e, try.Catch.As, path[1]))
				return
			case reader && isLost && !known[path[0]]:
				c.add(Diagnostic{Code: "SW509", Pointer: e.at, Message: fmt.Sprintf("there is no `.%s` here: the tasks of a catch get the input of the try, not what a task in it has put out", path[0]),
					Related: related(c.w.Source.Key(at), fmt.Sprintf("`.%s` is put out here", path[0])),
					Help:    fmt.Sprintf("keep it by `export: { as: '${ $context + {%s: .%s} }' }` on that task, and read `$context.%s`", path[0], path[0], path[0])})
				return
			}
		}
	})
}

func isErrorMember(name string) bool {
	return slices.Contains([]string{"type", "status", "title", "detail", "instance"}, name)
}

// notTheError returns the diagnostic for `.error`, because the error is a variable.
func (c *checker) notTheError(e expressionText, variable, member string) Diagnostic {
	d := Diagnostic{Code: "SW509", Pointer: e.at, Message: fmt.Sprintf("the error that was caught is `$%s`; `.error.%s` is a member of the data", variable, member),
		Label: didYouMean("$" + variable + "." + member)}
	if i := strings.Index(e.text, ".error."); i >= 0 {
		d.Range = c.w.Source.Within(e.at, i, i+len(".error"))
		d.Fix = []source.Edit{{Range: d.Range, NewText: "$" + variable}}
	}
	return d
}

// firstReaders returns the tasks of a list that may receive the input of the list: the first task, and the following tasks as long as all tasks
// before may be skipped.
func firstReaders(tasks TaskList) TaskList {
	for i, t := range tasks {
		if t.Base().If.Text == "" {
			return tasks[:i+1]
		}
	}
	return tasks
}

// objectKey matches the keys of the objects that an expression makes.
var objectKey = lazyregexp.New(`[{,]\s*"?([A-Za-z_]\w*)"?\s*:`)

// putOut adds the members of the output of a task and of the tasks inside it, with the place of the task.
func putOut(t Task, members map[string]Pointer) {
	walkList(TaskList{t}, func(t Task) bool {
		base := t.Base()
		var data []any
		if set, ok := t.(*SetTask); ok {
			data = append(data, set.Set.Data)
		}
		if base.Output != nil {
			data = append(data, base.Output.As.Data)
		}
		for _, value := range data {
			switch value := value.(type) {
			case map[string]any:
				for name := range maps.Keys(value) {
					members[name] = base.Pointer
				}
			case string:
				for _, m := range objectKey().FindAllStringSubmatch(value, -1) {
					members[m[1]] = base.Pointer
				}
			}
		}
		return true
	})
}

// knownMembers returns the members of the data that may exist before a try: members of the output of tasks outside of it, of the workflow's input,
// and of the data that the try itself reads first.
func (c *checker) knownMembers(try *TryTask) map[string]bool {
	members := map[string]Pointer{}
	Walk(c.w, func(t Task) bool {
		if t == Task(try) {
			return false
		}
		if !within(try.Pointer, t.Base().Pointer) {
			putOut(t, members)
			return false
		}
		return true
	})
	known := map[string]bool{}
	for name := range members {
		known[name] = true
	}
	if in := c.w.Input; in != nil && in.Schema != nil {
		document, _ := in.Schema.Document.(map[string]any)
		properties, _ := document["properties"].(map[string]any)
		for name := range properties {
			known[name] = true
		}
	}
	c.facts(func(e expressionText, facts Facts) {
		if e.task == Task(try) || len(try.Try) > 0 && e.task == try.Try[0] && e.property != propertyOutputAs && e.property != propertyExportAs {
			for _, path := range facts.Fields {
				known[path[0]] = known[path[0]] || path[0] != "error"
			}
		}
	})
	return known
}
