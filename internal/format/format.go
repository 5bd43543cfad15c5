// Package format formats documents: two spaces per level, everything else as written by the author. It never changes the meaning of a document, and
// returns a document unchanged if formatting would change it.
package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
)

// Document returns the text of a document in its standard form. Formatting the result again changes nothing, and formatting never changes the meaning
// of a document.
func Document(file string, text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if strings.EqualFold(filepath.Ext(file), ".json") || bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text) {
		return formatJSON(text)
	}
	head, text := directives(text)
	formatted, err := formatAsYAML(file, text)
	return append(head, formatted...), err
}

// directives splits off lines such as %YAML, up to the line that begins the document; they stay unchanged.
func directives(text []byte) (head, rest []byte) {
	if at := directiveLines().FindIndex(text); at != nil {
		return bytes.Clone(text[:at[1]]), text[at[1]:]
	}
	return nil, text
}

var directiveLines = lazyregexp.New(`\A(?:(?:#.*|\s*)\r?\n)*%(?:.*\n)*?---[ \t]*\r?\n`)

func formatAsYAML(file string, text []byte) ([]byte, error) {
	var refused error
	for _, block := range []blockStyle{blocksAsWritten, blocksLiteral, blocksQuoted} {
		formatted, err := formatYAML(text, block)
		if err != nil {
			return nil, err
		}
		if refused = settled(text, formatted, block); refused == nil {
			return formatted, nil
		}
	}
	return nil, fmt.Errorf("formatting %s would change what it says, so it stays as it is: %w", file, refused)
}

// blockStyle is the style of texts of several lines. The YAML library cannot write every text in every style so that it reads back the same; then a
// plainer style is used.
type blockStyle uint8

const (
	blocksAsWritten blockStyle = iota
	blocksLiteral              // folded ones as literal ones
	blocksQuoted               // in double quotes
)

func (s blockStyle) apply(n *yaml.Node) {
	const block = yaml.FoldedStyle | yaml.LiteralStyle
	switch {
	case s == blocksLiteral && n.Style&yaml.FoldedStyle != 0:
		n.Style = n.Style&^block | yaml.LiteralStyle
	case s == blocksQuoted && n.Style&block != 0:
		n.Style = n.Style&^block | yaml.DoubleQuotedStyle
	}
	if n.Tag == "!!merge" && n.Style&yaml.TaggedStyle == 0 { // the library would write it
		n.Tag = ""
	}
	for _, child := range n.Content {
		s.apply(child)
	}
}

// settled checks that formatted has the meaning of text, and that formatting it again changes nothing.
func settled(text, formatted []byte, block blockStyle) error {
	if err := sameData(text, formatted); err != nil {
		return err
	}
	again, err := formatYAML(formatted, block)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, formatted) {
		return fmt.Errorf("formatting it twice gives two different texts")
	}
	return nil
}

func formatJSON(text []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(text), "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func formatYAML(text []byte, block blockStyle) ([]byte, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	var root yaml.Node
	if err := readYAML(text, &root); err != nil {
		return nil, err
	}
	block.apply(&root)
	markGaps(&root, strings.Split(string(text), "\n"))
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return restoreGaps(b.Bytes()), nil
}

// gap is a comment in the place of an empty line, because the YAML library keeps comments but not empty lines.
const gap = "#swrun-empty-line"

// markGaps puts a gap before every key and item that follows an empty line.
func markGaps(n *yaml.Node, lines []string) {
	if n.Kind == yaml.AliasNode || n.Style&yaml.FlowStyle != 0 {
		return
	}
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i < len(n.Content); i++ {
		child := n.Content[i]
		if i%step == 0 && i > 0 && n.Kind != yaml.DocumentNode && followsEmptyLine(child, lines) {
			child.HeadComment = strings.TrimSuffix(gap+"\n"+child.HeadComment, "\n")
		}
		markGaps(child, lines)
	}
}

func followsEmptyLine(n *yaml.Node, lines []string) bool {
	above := n.Line - 2 // lines count from 1
	if n.HeadComment != "" {
		above -= strings.Count(n.HeadComment, "\n") + 1
	}
	return above >= 0 && above < len(lines) && strings.TrimSpace(lines[above]) == ""
}

// restoreGaps turns gaps back into empty lines. If the library has written an empty line already, one is enough.
func restoreGaps(text []byte) []byte {
	var kept []string
	restored := false
	for _, line := range strings.Split(string(text), "\n") {
		isGap := strings.TrimSpace(line) == gap
		last := len(kept) - 1
		switch {
		case isGap && last >= 0 && kept[last] == "":
		case isGap:
			kept = append(kept, "")
		case line == "" && restored:
		default:
			kept = append(kept, line)
		}
		restored = isGap
	}
	return []byte(strings.TrimRight(strings.Join(kept, "\n"), "\n") + "\n")
}

// readYAML reads everything that documents may contain, which is more than the library accepts.
func readYAML(text []byte, into any) error {
	document, _, err := source.Decode(text)
	if errors.Is(err, io.EOF) { // an empty text
		return nil
	}
	if err != nil {
		return err
	}
	return document.Decode(into)
}

func sameData(a, b []byte) error {
	var before, after any
	if err := readYAML(a, &before); err != nil {
		return err
	}
	if err := readYAML(b, &after); err != nil {
		return err
	}
	if !reflect.DeepEqual(before, after) {
		return fmt.Errorf("the data differs")
	}
	return nil
}
