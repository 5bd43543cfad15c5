package schema

import (
	"maps"
	"slices"
)

// kind contains the properties by which the schema recognizes one kind of task.
type kind struct {
	definition string
	keyword    string // the property that identifies the kind
	value      string // of the keyword, for calls
}

// kinds returns all kinds of tasks. If two kinds match, the earlier one counts: `for` has a `do` too.
func kinds() []kind {
	var calls []kind
	for _, p := range protocols() {
		calls = append(calls, kind{p.definition, "call", p.name})
	}
	return append(calls, []kind{
		{"callFunction", "call", ""},
		{"for", "for", ""},
		{"do", "do", ""},
		{"emit", "emit", ""},
		{"fork", "fork", ""},
		{"listen", "listen", ""},
		{"raise", "raise", ""},
		{"run", "run", ""},
		{"set", "set", ""},
		{"switch", "switch", ""},
		{"try", "try", ""},
		{"wait", "wait", ""},
	}...)
}

// taskChoice is a task as one of all kinds.
func taskChoice() shape {
	var choices []shape
	for _, k := range kinds() {
		choices = append(choices, use(k.definition))
	}
	return oneOf(choices...)
}

// taskChain is a task as a chain of conditions, so that an editor shows the author of a `wait` only the properties of wait tasks.
func taskChain() shape {
	all := kinds()
	isCall := func(k kind) bool { return k.keyword == "call" }
	last := slices.DeleteFunc(slices.Clone(all), func(k kind) bool { return !isCall(k) })
	all = append(slices.DeleteFunc(all, isCall), last...) // an editor suggests the properties of each condition on the way to the right one
	names := map[string]bool{}
	for _, k := range all {
		names[k.keyword] = true
	}
	var keywords []shape
	for _, name := range slices.Sorted(maps.Keys(names)) {
		keywords = append(keywords, shape{"required": needs(name)})
	}
	chain := shape{"type": "object", "anyOf": keywords, "defaultSnippets": taskSnippets()}
	for i := len(all) - 1; i >= 0; i-- {
		condition := shape{"required": needs(all[i].keyword)}
		if all[i].value != "" {
			condition["properties"] = properties{"call": constant(all[i].value)}
			condition["title"] = "call " + all[i].value // the entry with which an editor completes the condition
		}
		chain = shape{"if": condition, "then": use(all[i].definition), "else": chain}
	}
	// An editor considers a missing value valid for every condition: so the first condition is that the value is an object.
	task := shape{"if": shape{"type": "object", "minProperties": 1}, "then": chain, "else": shape{"type": "object", "minProperties": 1, "defaultSnippets": taskSnippets()}}
	calls := properties{"call": likely(callNames()...).about("The called protocol, or a function of `use.functions` or of a catalog.")}
	return shape{"allOf": []shape{task, {"type": "object", "properties": calls}}}
}

// metadata is an object with any members, of which `swrun` contains the options of the engine.
func metadata(options properties) shape {
	engine := shape{"type": "object", "properties": options}.about("The options of the engine.")
	return shape{"type": "object", "properties": properties{"swrun": engine}}
}

// task is a closed object with the properties that all tasks have.
func task(required []string, members properties) shape {
	return object(required, members.with(properties{
		"if":      text().about("An expression on the raw input. The task is skipped unless it is true."),
		"input":   use("input").about("How the task's input is validated and reshaped."),
		"output":  use("output").about("How the task's output is reshaped and validated."),
		"export":  use("export").about("How the workflow's context is updated."),
		"timeout": use("timeoutOrName").about("How long the task may take in total. A try around it can catch the timeout."),
		"then":    directive().about("The next task: `continue`, `exit`, `end`, or the name of a task in the same list."),
		"metadata": metadata(properties{
			"delivery":     anything().about("The delivery of the effects of the task."),
			"parentClose":  anything().about("The fate of a child workflow at the end of this workflow: cancel, terminate or abandon."),
			"queue":        anything().about("The queue whose workers perform the task."),
			"softDeadline": anything().about("The time after which the task counts as late, and goes on."),
			"backoffList":  anything().about("The delays before the retries of a try."),
		}).about("Anything else about the task; `swrun` has options of the engine."),
	}))
}

// taskDefinitions are the kinds of tasks.
func taskDefinitions() properties {
	return controlTasks().with(callTasks()).with(properties{
		"run": task(needs("run"), properties{"run": run().about("The process or workflow to run.")}),
		"emit": task(needs("emit"), properties{"emit": object(needs("event"), properties{
			"event": object(needs("with"), properties{"with": use("eventToEmit").about("The event's attributes and data.")}).open().about("The event."),
		}).about("The event to publish.")}),
		"listen": task(needs("listen"), properties{
			"listen": object(needs("to"), properties{
				"to":   use("strategy").about("The events to wait for."),
				"read": enum("data", "envelope", "raw").about("The part to read: their data, the whole event, or its raw form."),
			}).about("The events to wait for."),
			"foreach": use("iterator"),
		}),
	})
}

func controlTasks() properties {
	nonEmpty := anyObject()
	nonEmpty["minProperties"] = 1
	cases := listOf(single(object(needs("then"), properties{
		"when": text().about("An expression. A case without one is the default."),
		"then": directive().about("The next task."),
	})).called("case")).offers(caseSnippets())
	cases["minItems"] = 1
	return properties{
		"do": task(needs("do"), properties{"do": use("taskList").about("Tasks to run one after the other.")}),
		"for": task(needs("for", "do"), properties{
			"for": object(needs("in"), properties{
				"each": text().about("The variable that holds the item: `item` unless set."),
				"at":   text().about("The variable that holds its position: `index` unless set."),
				"in":   anyOf(text(), shape{"type": "array"}).about("An expression that yields an array, or the array itself."),
			}).about("The collection of the loop."),
			"while": text().about("An expression that must be true before each iteration."),
			"do":    use("taskList").about("Tasks to run for each item."),
		}),
		"fork": task(needs("fork"), properties{"fork": object(needs("branches"), properties{
			"branches": use("taskList").about("Tasks to run at the same time."),
			"compete":  boolean().about("Whether the first branch to end wins, and the others are cancelled."),
		}).about("The branches.")}),
		"raise": task(needs("raise"), properties{"raise": object(needs("error"), properties{
			"error": anyOf(use("error"), text()).about("The error, or the name of one in `use.errors`."),
		}).about("The error to raise.")}),
		"set":    task(needs("set"), properties{"set": anyOf(nonEmpty, text()).about("The new data.")}),
		"switch": task(needs("switch"), properties{"switch": cases.about("The cases. The first one whose expression is true is taken.")}),
		"try": task(needs("try", "catch"), properties{
			"try":   use("taskList").about("Tasks whose errors are handled."),
			"catch": catch().about("Which errors are handled, and how."),
		}),
		"wait": task(needs("wait"), properties{"wait": use("duration").about("How long to wait.")}),
	}
}

func catch() shape {
	filter := shape{openMark: true, "type": "object", "minProperties": 1, "additionalProperties": false, "properties": properties{
		"type":     anyOf(enum(errorTypes()...), text()).about("The URI of the error's type."),
		"status":   integer().about("The status code."),
		"title":    text().about("The summary."),
		"detail":   text().about("The description of this occurrence."),
		"details":  text().about("The name of `detail` before 2026."),
		"instance": text().about("The pointer of the task that failed, for example /do/0/pay."),
	}}
	return object(nil, properties{
		"errors":     object(nil, properties{"with": filter.about("The members that the error must have.")}).open().about("The errors to catch: all unless set."),
		"as":         text().about("The variable that holds the error: `error` unless set."),
		"when":       text().about("An expression that must be true for the error to be caught."),
		"exceptWhen": text().about("An expression that must not be true for the error to be caught."),
		"retry":      anyOf(use("retryPolicy"), text()).offers(retrySnippets()).about("When to try again: a policy, or the name of one in `use.retries`."),
		"do":         use("taskList").about("Tasks to run once an error is caught and not retried."),
		"then":       directive().about("The next task after an error was caught."),
	})
}
