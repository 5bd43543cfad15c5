package dsl

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/suggest"
)

// certain returns the choice that is surely meant by a misspelt text, or "". It is suggest.Word for words of the language, and suggest.Name for names
// of the author.
type certain func(misspelt string, choices []string) string

// suggested completes d, which is about the misspelt text of a node, with the choice that was probably meant: with a question, and with an edit that
// is safe only if no other choice can be meant.
func (s *Source) suggested(d Diagnostic, n *yaml.Node, choices []string, sure certain) Diagnostic {
	name := asSeen(n.Value)
	meant := suggest.Nearest(name, choices)
	if meant == "" {
		return d
	}
	d.Label = didYouMean(meant)
	d.Fix = onlyIf(sure(name, choices) == meant, s.Replace(n, meant))
	return d
}

// synonyms are words of other languages for properties of this one, with the same kind of value.
func synonyms() map[string]string {
	return map[string]string{
		"url": "endpoint", "uri": "endpoint", "minute": "minutes", "second": "seconds", "hour": "hours", "day": "days",
		"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "millisecond": "milliseconds", "ms": "milliseconds", "sec": "seconds", "secs": "seconds", "min": "minutes", "mins": "minutes",
		"condition": "if", "when": "if", "next": "then", "Next": "then", "transition": "then", "nextState": "then", "goto": "then", "params": "parameters", "args": "arguments", "env": "environment",
		"verb": "method", "rpc": "method", "address": "host", "src": "source", "payload": "body", "json": "body", "cmd": "command", "user": "username", "pass": "password",
	}
}

// resembling are words of other languages for properties of this one, with another kind of value.
func resembling() map[string]string {
	return map[string]string{
		"parallel": "fork", "delay": "wait", "sleep": "wait", "foreach": "for", "loop": "for", "invoke": "call", "throw": "raise",
		"retries": "retry", "maxAttempts": "attempt", "attempts": "attempt", "duration": "after", "tasks": "do", "steps": "do",
		"docker": "container", "message": "detail", "code": "status", "statusCode": "status", "if": "when", "case": "when", "item": "each", "of": "in", "amount": "consume", "command": "stdio", "except": "catch", "do": "then", "query_params": "query",
	}
}

// otherKeyFor returns the allowed property that an unknown property most likely means, or "".
func otherKeyFor(name string, allowed []string) string {
	name = asSeen(name)
	for _, words := range []map[string]string{synonyms(), resembling()} {
		if meant, ok := words[name]; ok && slices.Contains(allowed, meant) {
			return meant
		}
	}
	return suggest.Nearest(name, allowed)
}

// otherKey completes d, which is about an unknown property, with the allowed property that was probably meant.
func (s *Source) otherKey(d Diagnostic, key *yaml.Node, allowed []string) Diagnostic {
	meant := otherKeyFor(key.Value, allowed)
	if meant == "" {
		return d
	}
	name := asSeen(key.Value)
	sure := synonyms()[name] == meant || resembling()[name] != meant && suggest.Word(name, allowed) == meant
	d.Label, d.Fix = didYouMean(meant), onlyIf(sure, s.Replace(key, meant))
	return d
}

func didYouMean(text string) string { return fmt.Sprintf("did you mean `%s`?", text) }

// onlyIf returns edits that are safe only if they are certain.
func onlyIf(certain bool, edits []source.Edit) []source.Edit {
	for i := range edits {
		edits[i].Safe = edits[i].Safe && certain
	}
	return edits
}
