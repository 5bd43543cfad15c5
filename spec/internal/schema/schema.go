// Package schema generates the JSON Schema of the DSL. Both shapes come from one description, so that they cannot disagree.
// Package spec embeds the generated files, and a test there compares them with this package.
package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// Exact returns the schema in draft 2020-12. It accepts the documents that package dsl accepts, except for conditions that a schema cannot express:
// duplicate keys, references, the names of variables.
func Exact() []byte {
	return encode(shape{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       title,
		"description": "A workflow document.",
		"$defs":       definitions(taskChoice()),
		"$ref":        ref("workflow"),
	}, exactForm())
}

// Editor returns the same schema in draft-07, with descriptions in the form that editors show, snippets, and a chain of
// conditions that leads an editor to the one kind of task that is being written.
func Editor() []byte {
	return encode(shape{
		"$schema":         "http://json-schema.org/draft-07/schema#",
		"definitions":     titled(definitions(taskChain())),
		"allOf":           []shape{use("workflow")},
		"defaultSnippets": documentSnippets(),
	}, editorForm())
}

// titled gives each definition its name as a title: editors call a value by the nearest title.
func titled(all properties) properties {
	for name, s := range all {
		with := maps.Clone(s)
		with["title"] = name
		all[name] = with
	}
	return all
}

const title = "Serverless Workflow DSL 1.0.3"

func encode(s shape, f form) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(resolve(s, f)); err != nil { // maps and texts always encode
		panic(err)
	}
	return text.Bytes()
}

const (
	semver = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-((0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(\+([0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*))?$`
	name   = `^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`
)

// definitions are the named parts of the schema; task determines the kind of a task.
func definitions(task shape) properties {
	all := properties{
		"workflow": workflow(),
		"taskList": listOf(single(use("task")).called("task")).offers(namedTaskSnippets()).about("Tasks, which run in this order unless `then` changes it."),
		"task":     task,
		"extension": object(needs("extend"), properties{
			"extend": enum("call", "composite", "emit", "for", "listen", "raise", "run", "set", "switch", "try", "wait", "all").about("The kind of task that is extended."),
			"when":   text().about("An expression that decides whether a task is extended; `$task` is that task."),
			"before": use("taskList").about("Tasks that run before the extended one. `then: exit` in them skips it."),
			"after":  use("taskList").about("Tasks that run after the extended one."),
		}),
	}
	for _, part := range []properties{dataDefinitions(), connectionDefinitions(), eventDefinitions(), taskDefinitions()} {
		all = all.with(part)
	}
	return all
}

func workflow() shape {
	return object(needs("document", "do"), properties{
		"document": object(needs("dsl", "namespace", "name", "version"), properties{
			"dsl":       pattern(`^1\.` + strings.TrimPrefix(semver, `^(0|[1-9]\d*)\.`)).about("The version of the DSL: 1.x.y, for example 1.0.3."),
			"namespace": pattern(name).about("The namespace that the workflow belongs to."),
			"name":      pattern(name).about("The name of the workflow."),
			"version":   pattern(semver).about("The semantic version of the workflow."),
			"title":     text().about("A title for people."),
			"summary":   text().about("A summary in Markdown."),
			"tags":      anyObject().about("Key and value pairs that describe the workflow."),
			"metadata":  anyObject().about("Anything else about the workflow; engines keep their options here."),
		}).about("The identity of the document."),
		"input":    use("input").about("How the workflow's input is validated and reshaped."),
		"use":      components(),
		"do":       use("taskList").about("The tasks of the workflow."),
		"timeout":  use("timeoutOrName").about("How long the workflow may take in total. Nothing inside it can catch the timeout."),
		"output":   use("output").about("How the workflow's output is reshaped and validated."),
		"schedule": schedule(),
		"evaluate": object(nil, properties{
			"language": likely("jq").about("The language of expressions: jq."),
			"mode":     enum("strict", "loose").about("Whether expressions need `${ }` (strict), or any text may be one (loose)."),
		}).about("How expressions are evaluated."),
	})
}

func components() shape {
	return object(nil, properties{
		"authentications": mapOf(use("policy")).about("Authentication policies, by name."),
		"catalogs":        mapOf(object(needs("endpoint"), properties{"endpoint": use("endpoint")})).about("Catalogs of functions, by name."),
		"errors":          mapOf(use("error")).about("Errors to raise, by name."),
		"extensions":      listOf(single(use("extension")).called("extension")).offers(extensionSnippets()).about("Tasks that run before and after other tasks."),
		"functions":       mapOf(use("task")).about("Functions to call, by name."),
		"retries":         mapOf(use("retryPolicy")).about("Retry policies, by name."),
		"secrets":         listOf(text()).about("The secrets that the workflow may read."),
		"timeouts":        mapOf(use("timeout")).about("Timeouts, by name."),
	}).about("Definitions that the workflow uses in several places.")
}

func schedule() shape {
	s := object(nil, properties{
		"every": use("duration").about("The interval between two runs."),
		"cron":  text().about("A cron expression, for example '0 0 * * *'."),
		"after": use("duration").about("The delay between the end of a run and the next."),
		"on":    use("strategy").about("The events that start a run."),
		"read":  enum("data", "envelope", "raw").about("The input from the events in `on`: their data, the whole events, or their raw form."),
	})
	s[dependent] = map[string]any{"read": needs("on")}
	return s.about("When runs start by themselves.")
}

// dataDefinitions are the definitions of data, durations, errors and retries.
func dataDefinitions() properties {
	transform := anyOf(text(), anyObject())
	return properties{
		"expression": pattern(`^\s*\$\{[\s\S]+\}\s*$`),
		"duration": anyOf(
			shape{"type": "object", "minProperties": 1, "additionalProperties": false, "properties": units()}.says(aDuration),
			use("expression"),
			shape{
				"type": "string", "errorMessage": aDuration, "patternErrorMessage": aDuration, "pattern": `^P(\d+Y)?(\d+M)?(\d+(\.\d+)?W)?(\d+(\.\d+)?D)?(T(\d+(\.\d+)?H)?(\d+(\.\d+)?M)?(\d+(\.\d+)?S)?)?$`,
				"not": shape{"pattern": `^P$|T$`}, "examples": []string{"PT10S", "PT5M", "PT1H", "P1D"},
			},
		).about("A span of time: an object such as `{seconds: 2}`, ISO 8601 such as `PT2S`, or an expression."),
		"timeout":       object(needs("after"), properties{"after": use("duration").about("How long it may take.")}),
		"timeoutOrName": anyOf(use("timeout"), text()).offers(timeoutSnippets()).about("A timeout, or the name of one in `use.timeouts`."),
		"schema": object(nil, properties{
			"format":   text().about("json, or json with a version of JSON Schema, such as json:2020-12."),
			"document": shape{"not": shape{"type": "null"}}.about("The JSON Schema itself."),
			"resource": use("resource").about("Where the JSON Schema is."),
		}).exactlyOne("document", "resource").about("A JSON Schema that data must match."),
		"input":  object(nil, properties{"schema": use("schema"), "from": transform.about("An expression on the raw input.")}).about("How the input is validated and reshaped."),
		"output": object(nil, properties{"schema": use("schema"), "as": transform.about("An expression on the raw output.")}).about("How the output is reshaped and validated."),
		"export": object(nil, properties{"schema": use("schema"), "as": transform.about("An expression on the transformed output, whose value becomes `$context`.")}).about("How the workflow's context is updated."),
		"error": object(needs("type", "status"), properties{
			"type":     use("errorType").about("The URI of the error's type."),
			"status":   integer().about("The status code."),
			"title":    text().about("A short summary."),
			"detail":   text().about("The description of this occurrence."),
			"instance": text().about("A JSON Pointer to the origin of the error."),

			"nonRetryable": boolean().about("Whether no `try` is to retry after it; an extension of the language."),
		}),
		"errorType":   anyOf(use("uri"), use("expression"), enum(errorTypes()...)),
		"retryPolicy": retryPolicy(),
	}
}

const aDuration = "A duration is an object such as {seconds: 2}, ISO 8601 such as PT2S, or an expression in ${ }."

func retryPolicy() shape {
	retry := use("duration")
	return object(nil, properties{
		"when":       text().about("An expression that must be true for a retry."),
		"exceptWhen": text().about("An expression that must not be true for a retry."),
		"delay":      retry.about("The delay before a retry."),
		"backoff": object(nil, properties{
			"constant":    anyObject().about("Every delay is the same."),
			"linear":      anyObject().about("The n-th delay is n times `delay`."),
			"exponential": anyObject().about("The n-th delay is `delay` times 2 to the n."),
		}).
			exactlyOne("constant", "linear", "exponential").about("How the delay grows."),
		"limit": object(nil, properties{
			"attempt": object(nil, properties{
				"count":    wholeNumber().about("The number of retries: 0 for none. Without it there is no limit."),
				"duration": retry.about("How long each attempt may take."),
			}).about("Limits of the attempts."),
			"duration": retry.about("How long all attempts may take in total."),
		}).about("When to give up."),
		"jitter": object(needs("from", "to"), properties{
			"from": retry.about("The least that is added."), "to": retry.about("The most that is added."),
		}).about("A random time that is added to the delay."),
	})
}

func units() properties {
	all := properties{}
	for _, unit := range []string{"days", "hours", "minutes", "seconds", "milliseconds"} {
		all[unit] = wholeNumber().about("A whole number of " + unit + ".")
	}
	return all
}

// errorTypes are the standard types, which editors suggest.
func errorTypes() []string {
	var types []string
	for _, name := range []string{"configuration", "validation", "expression", "authentication", "authorization", "timeout", "communication", "runtime"} {
		types = append(types, "https://serverlessworkflow.io/spec/1.0.0/errors/"+name)
	}
	return types
}
