package source

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// Replace replaces a scalar of one line by other text in the same quotes, or in quotes if the text needs them.
func (t *Tree) Replace(n *yaml.Node, text string) []Edit {
	switch {
	case n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.ContainsAny(n.Value, "\r\n"):
		return nil
	case n.Style&yaml.DoubleQuotedStyle != 0:
		text = inDoubleQuotes(text)
	case n.Style&yaml.SingleQuotedStyle != 0 || !readsAsText(text):
		text = inSingleQuotes(text)
	}
	return []Edit{{Range: t.RangeOf(n), NewText: text, Safe: true}}
}

// ReplaceRaw replaces a scalar of one line by any other value.
func (t *Tree) ReplaceRaw(n *yaml.Node, value string) []Edit {
	edits := t.Replace(n, "")
	for i := range edits {
		edits[i].NewText = value
	}
	return edits
}

// Wrap puts a key around an object: `{seconds: 5}` becomes `{after: {seconds: 5}}`.
func (t *Tree) Wrap(n *yaml.Node, key string) []Edit {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return nil
	}
	start := t.OffsetOf(n)
	if n.Style&yaml.FlowStyle == 0 {
		return append([]Edit{t.Insert(start, key+":\n"+strings.Repeat(" ", n.Column+1))}, t.Indent(n.Content[0].Line+1, t.LastLine(n))...)
	}
	end, ok := t.closing(n)
	if !ok {
		return nil
	}
	return []Edit{t.Insert(start, "{ "+t.Word(key)+": "), t.Insert(end, " }")}
}

// closing returns the offset after the bracket that ends a collection in flow style, if there is only white space between its last value and the bracket.
func (t *Tree) closing(n *yaml.Node) (offset int, ok bool) {
	last := n
	for len(last.Content) > 0 {
		last = last.Content[len(last.Content)-1]
	}
	if last.Kind != yaml.ScalarNode {
		return 0, false
	}
	end := t.RangeOf(last).End.Offset
	for depth := t.depthBelow(n); end < len(t.Text); end++ {
		switch t.Text[end] {
		case '}', ']':
			if depth--; depth == 0 {
				return end + 1, true
			}
		case ' ', '\t', '\r', '\n', ',':
		default:
			return 0, false
		}
	}
	return 0, false
}

// depthBelow counts the collections from n down to its last scalar.
func (t *Tree) depthBelow(n *yaml.Node) int {
	depth := 0
	for len(n.Content) > 0 {
		depth++
		n = n.Content[len(n.Content)-1]
	}
	return depth
}

// Word writes a word as a key or value, in JSON in quotes.
func (t *Tree) Word(word string) string {
	if t.json {
		return inDoubleQuotes(word)
	}
	return word
}

// ReplaceQuoted replaces a scalar of one line by text in quotes.
func (t *Tree) ReplaceQuoted(n *yaml.Node, text string) []Edit {
	edits := t.Replace(n, text)
	if len(edits) == 1 && n.Style == 0 {
		edits[0].NewText = t.Quote(text)
	}
	return edits
}

// Quote puts a text of one line in quotes: single ones in YAML, double ones in JSON.
func (t *Tree) Quote(text string) string {
	if t.json {
		return inDoubleQuotes(text)
	}
	return inSingleQuotes(text)
}

func inSingleQuotes(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func inDoubleQuotes(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// plain matches text that needs no quotes anywhere in a document.
var plain = lazyregexp.New(`^[A-Za-z][\w./:-]*$`)

// readsAsText reports whether YAML reads a text as itself without quotes.
func readsAsText(text string) bool {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	return plain().MatchString(text) && !strings.HasSuffix(text, ":") && !slices.Contains(words, strings.ToLower(text))
}

// Insert inserts text at an offset.
func (t *Tree) Insert(offset int, text string) Edit {
	at := t.PositionOf(offset)
	return Edit{Range: Range{at, at}, NewText: text, Safe: true}
}

// Indent indents lines by two more spaces.
func (t *Tree) Indent(first, last int) []Edit {
	var edits []Edit
	for line := first; line <= last; line++ {
		if len(t.Line(line)) > 0 {
			edits = append(edits, t.Insert(t.LineStart(line), "  "))
		}
	}
	return edits
}

// Dash makes a list item of a property: a dash replaces the last two spaces of indentation before its key.
func (t *Tree) Dash(key *yaml.Node) []Edit {
	start := t.OffsetOf(key)
	if start < 2 || string(t.Text[start-2:start]) != "  " {
		return nil
	}
	return []Edit{{Range: Range{t.PositionOf(start - 2), t.PositionOf(start)}, NewText: "- ", Safe: true}}
}

// MoveToEnd moves the lines of a property to the end of the text, without their indentation.
func (t *Tree) MoveToEnd(key, value *yaml.Node) []Edit {
	first, last := key.Line, t.LastLine(value)
	var moved strings.Builder
	if len(t.Text) > 0 && t.Text[len(t.Text)-1] != '\n' {
		moved.WriteByte('\n')
	}
	for line := first; line <= last; line++ {
		text := string(t.Line(line))
		indent := min(key.Column-1, len(text)-len(strings.TrimLeft(text, " ")))
		moved.WriteString(text[indent:] + "\n")
	}
	return []Edit{
		{Range: Range{t.PositionOf(t.LineStart(first)), t.PositionOf(t.LineStart(last + 1))}, Safe: true},
		t.Insert(len(t.Text), moved.String()),
	}
}
