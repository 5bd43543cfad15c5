package source

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Decode reads the first document of a YAML text. It also reads two forms that the library refuses, or does not read as YAML 1.2 requires: the
// escapes of JSON in double quotes, and question marks in brackets. The decoder reads the documents that follow.
func Decode(text []byte) (*yaml.Node, *yaml.Decoder, error) { return newTree("", text).decode(text) }

// decode is Decode for the text of the tree, in which a directive may have become a comment. It records the columns that differ.
func (t *Tree) decode(text []byte) (*yaml.Node, *yaml.Decoder, error) {
	document, decoder, err := decodeHidden(text)
	if readable := t.readableEscapes(text, err); readable != nil {
		return decodeHidden(readable)
	}
	return document, decoder, err
}

// decodeHidden decodes a text after hiding question marks that the library would misread: in brackets, each of them would begin a key. The columns
// stay the same.
func decodeHidden(text []byte) (*yaml.Node, *yaml.Decoder, error) {
	hidden, stand := hide(text)
	decoder := yaml.NewDecoder(bytes.NewReader(hidden))
	document := new(yaml.Node)
	err := decoder.Decode(document)
	if stand != "" {
		show(document, stand)
	}
	return document, decoder, err
}

// The private characters of Unicode, one of which replaces a question mark.
const (
	firstPrivate = 0xe000
	lastPrivate  = 0xf8ff
)

// hide replaces the question marks in brackets that are part of a text by a character that the text does not contain. It returns that character; ""
// if there is nothing to replace.
func hide(text []byte) (hidden []byte, stand string) {
	if !bytes.ContainsRune(text, '?') {
		return text, ""
	}
	marks := newTree("", text).scan(len(text)).marks
	if len(marks) == 0 {
		return text, ""
	}
	lower := bytes.ToLower(text)
	free := rune(firstPrivate)
	for free < lastPrivate && (bytes.ContainsRune(text, free) || bytes.Contains(lower, []byte(strconv.FormatInt(int64(free), 16)))) { // an escape names it by its number
		free++
	}
	stand = string(free)
	done := 0
	for _, at := range marks {
		hidden = slices.Concat(hidden, text[done:at], []byte(stand))
		done = at + 1
	}
	return append(hidden, text[done:]...), stand
}

// show replaces the character of hide by question marks.
func show(n *yaml.Node, stand string) {
	n.Value = strings.ReplaceAll(n.Value, stand, "?")
	for _, c := range n.Content {
		show(c, stand)
	}
}
