package dsl

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
)

// checkForeign: SW209, characters that readers cannot see or distinguish, in names, URIs, types of events and expressions. Data may hold any
// character.
func checkForeign(c *checker) {
	(&walker{onTask: func(t Task) bool {
		c.foreignKey(t.Base().Pointer, t.Base().Name)
		return true
	}, onValue: c.foreignValue}).workflow(c.w, nil)
	for _, e := range c.texts {
		if e.isExpression() {
			c.foreignText(e.at, e.text, foreignWord(e.text))
		}
	}
}

// foreignValue reports foreign characters in a value that is no data.
func (c *checker) foreignValue(p property, v Value) {
	switch p {
	case propertyEndpoint:
		c.foreignSign(v.Pointer, v.Text())
	case propertyRun:
		if strings.HasSuffix(string(v.Pointer), "/image") {
			c.foreignSign(v.Pointer, v.Text())
		}
	case propertyEmit, propertyEventFilter:
		c.foreignTexts(v, []string{"type", "source", "dataschema", "datacontenttype"})
	case propertyAuthentication:
		properties, _ := v.Data.(map[string]any)
		authority, _ := properties["authority"].(string)
		c.foreignSign(v.Pointer.Key("authority"), authority)
	case propertySet:
		c.foreignKeys(v)
	}
}

// foreignTexts reports foreign characters in the texts of an object with the given names; nil means all of them.
func (c *checker) foreignTexts(v Value, of []string) {
	texts, _ := v.Data.(map[string]any)
	for _, name := range sortedKeys(texts) {
		if text, is := texts[name].(string); is && (of == nil || contains(of, name)) {
			c.foreignSign(v.Pointer.Key(name), text)
		}
	}
}

// foreignKeys reports foreign characters in the names of an object.
func (c *checker) foreignKeys(v Value) {
	members, _ := v.Data.(map[string]any)
	for _, name := range sortedKeys(members) {
		c.foreignKey(v.Pointer.Key(name), name)
	}
}

// foreignKey reports a foreign character in the name at a pointer.
func (c *checker) foreignKey(at Pointer, name string) {
	if i := foreignWord(name); i >= 0 {
		c.reportForeign(at, c.w.Source.Key(at), name, i)
	}
}

// foreignSign reports a foreign character in a text that is no prose: its signs are those of ASCII too, unless it is in another script.
func (c *checker) foreignSign(at Pointer, text string) {
	i := foreignWord(text)
	if i < 0 {
		i = foreignSign(text)
	}
	if !delimited.Is(text) { // expressions are looked at by themselves
		c.foreignText(at, text, i)
	}
}

// foreignText reports the foreign character at an offset of the value at a pointer; a negative offset is none.
func (c *checker) foreignText(at Pointer, text string, i int) {
	if i >= 0 {
		_, size := utf8.DecodeRuneInString(text[i:])
		c.reportForeign(at, c.w.Source.Within(at, i, i+size), text, i)
	}
}

func (c *checker) reportForeign(at Pointer, place source.Range, text string, i int) {
	r, _ := utf8.DecodeRuneInString(text[i:])
	d := Diagnostic{Code: "SW209", Pointer: at, Range: place, Message: fmt.Sprintf("the character %s at position %d", characterName(r), utf8.RuneCountInString(text[:i])+1)}
	switch plain := plainRune(plainQuote(r)); {
	case plain < 0:
		d.Message, d.Help = d.Message+" is invisible", "remove it"
	case plain == ' ':
		d.Message, d.Help = d.Message+" looks like a space", "write a plain space, or remove it"
	default:
		d.Message, d.Help = fmt.Sprintf("%s looks like `%c`", d.Message, plain), fmt.Sprintf("write a plain `%c` in its place", plain)
	}
	c.add(d)
}
