package dsl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/suggest"
)

// certain finds the one choice that a misspelt text must stand for, or "": suggest.Word for the words of the language,
// suggest.Name for names that the author has chosen.
type certain func(misspelt string, choices []string) string

// suggested completes d, which is about the misspelt text of a node, with the choice that was probably meant: as a question,
// and as an edit, which is safe only if nothing else can have been meant.
func (s *Source) suggested(d Diagnostic, n *yaml.Node, choices []string, sure certain) Diagnostic {
	meant := suggest.Nearest(n.Value, choices)
	if meant == "" {
		return d
	}
	d.Label = didYouMean(meant)
	d.Fix = onlyIf(sure(n.Value, choices) == meant, s.respelt(n, meant))
	return d
}

// synonyms are the words of other languages for properties of this one that take the same value.
func synonyms() map[string]string {
	return map[string]string{
		"url": "endpoint", "uri": "endpoint", "minute": "minutes", "second": "seconds", "hour": "hours", "day": "days",
		"millisecond": "milliseconds", "ms": "milliseconds", "sec": "seconds", "secs": "seconds", "min": "minutes", "mins": "minutes",
		"condition": "if", "next": "then", "goto": "then", "params": "parameters", "args": "arguments", "env": "environment",
		"verb": "method", "payload": "body", "json": "body", "cmd": "command", "user": "username", "pass": "password",
	}
}

// resembling are the words of other languages for properties of this one that take a value of another shape.
func resembling() map[string]string {
	return map[string]string{
		"parallel": "fork", "delay": "wait", "sleep": "wait", "foreach": "for", "loop": "for", "invoke": "call", "throw": "raise",
		"retries": "retry", "maxAttempts": "attempt", "attempts": "attempt", "duration": "after", "tasks": "do", "steps": "do",
		"docker": "container", "message": "detail", "if": "when", "case": "when", "item": "each", "of": "in", "except": "catch", "do": "then", "query_params": "query",
	}
}

// otherKeyFor returns the property of allowed that an unknown one most likely stands for, or "".
func otherKeyFor(name string, allowed []string) string {
	for _, words := range []map[string]string{synonyms(), resembling()} {
		if meant, ok := words[name]; ok && slices.Contains(allowed, meant) {
			return meant
		}
	}
	return suggest.Nearest(name, allowed)
}

// otherKey completes d, which is about an unknown property, with the allowed one that was probably meant.
func (s *Source) otherKey(d Diagnostic, key *yaml.Node, allowed []string) Diagnostic {
	meant := otherKeyFor(key.Value, allowed)
	if meant == "" {
		return d
	}
	sure := synonyms()[key.Value] == meant || resembling()[key.Value] != meant && suggest.Word(key.Value, allowed) == meant
	d.Label, d.Fix = didYouMean(meant), onlyIf(sure, s.respelt(key, meant))
	return d
}

func didYouMean(text string) string { return fmt.Sprintf("did you mean `%s`?", text) }

// onlyIf returns edits that are made without asking only if they are certain.
func onlyIf(certain bool, edits []Edit) []Edit {
	for i := range edits {
		edits[i].Safe = edits[i].Safe && certain
	}
	return edits
}

// respelt replaces a scalar of one line by other text in the same quotes, or in quotes if the text needs them.
func (s *Source) respelt(n *yaml.Node, text string) []Edit {
	switch {
	case n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.ContainsAny(n.Value, "\r\n"):
		return nil
	case n.Style&yaml.DoubleQuotedStyle != 0:
		text = inDoubleQuotes(text)
	case n.Style&yaml.SingleQuotedStyle != 0 || !readsAsText(text):
		text = inSingleQuotes(text)
	}
	return []Edit{{Range: s.span(n), NewText: text, Safe: true}}
}

// replaced replaces a scalar of one line by any other value.
func (s *Source) replaced(n *yaml.Node, value string) []Edit {
	edits := s.respelt(n, "")
	for i := range edits {
		edits[i].NewText = value
	}
	return edits
}

// wrapped puts a key around an object: `{seconds: 5}` becomes `{after: {seconds: 5}}`.
func (s *Source) wrapped(n *yaml.Node, key string) []Edit {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return nil
	}
	start := s.position(s.start(n))
	if n.Style&yaml.FlowStyle == 0 {
		return append([]Edit{{Range: Range{start, start}, NewText: key + ":\n" + strings.Repeat(" ", n.Column+1), Safe: true}},
			s.indented(n.Content[0].Line+1, s.lastLine(n))...)
	}
	end, ok := s.closing(n)
	if !ok {
		return nil
	}
	return []Edit{
		{Range: Range{start, start}, NewText: "{ " + s.key(key) + ": ", Safe: true},
		{Range: Range{end, end}, NewText: " }", Safe: true},
	}
}

// closing returns the position after the bracket that ends a collection in flow style, if nothing but white space stands
// between its last value and the bracket.
func (s *Source) closing(n *yaml.Node) (Position, bool) {
	last := n
	for len(last.Content) > 0 {
		last = last.Content[len(last.Content)-1]
	}
	if last.Kind != yaml.ScalarNode {
		return Position{}, false
	}
	end := s.span(last).End.Offset
	for depth := s.depthBelow(n); end < len(s.Text); end++ {
		switch s.Text[end] {
		case '}', ']':
			if depth--; depth == 0 {
				return s.position(end + 1), true
			}
		case ' ', '\t', '\r', '\n', ',':
		default:
			return Position{}, false
		}
	}
	return Position{}, false
}

// depthBelow counts the collections from n down to its last scalar.
func (s *Source) depthBelow(n *yaml.Node) int {
	depth := 0
	for len(n.Content) > 0 {
		depth++
		n = n.Content[len(n.Content)-1]
	}
	return depth
}

// key writes a word as a key or value: in JSON it stands in quotes.
func (s *Source) key(word string) string {
	if s.json {
		return inDoubleQuotes(word)
	}
	return word
}

// inQuotes replaces a scalar of one line by text in quotes.
func (s *Source) inQuotes(n *yaml.Node, text string) []Edit {
	edits := s.respelt(n, text)
	if len(edits) == 1 && n.Style == 0 {
		edits[0].NewText = s.quotes(text)
	}
	return edits
}

// quotes puts a text of one line in the quotes that the document's format has.
func (s *Source) quotes(text string) string {
	if s.json {
		return inDoubleQuotes(text)
	}
	return inSingleQuotes(text)
}

func inSingleQuotes(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func inDoubleQuotes(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// plain matches text that stands for itself without quotes, wherever it stands.
var plain = regexp.MustCompile(`^[A-Za-z][\w./:-]*$`)

// readsAsText reports whether YAML reads a text as itself without quotes.
func readsAsText(text string) bool {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	return plain.MatchString(text) && !strings.HasSuffix(text, ":") && !slices.Contains(words, strings.ToLower(text))
}
