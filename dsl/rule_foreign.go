package dsl

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// checkForeign: SW209, characters that readers cannot see or distinguish, in names, URIs, types of events and expressions. Data may hold any
// character.
func checkForeign(c *checker) {
	(&walker{onTask: func(t Task) bool {
		c.foreignKey(t.Base().Pointer, t.Base().Name)
		c.foreignTask(t)
		return true
	}, onValue: c.foreignValue, onError: func(e *ErrorDefinition) { c.foreignSign(e.Pointer.Key("type"), e.Type) }}).workflow(c.w, nil)
	for _, e := range c.texts {
		if e.isExpression() {
			c.foreignText(e.at, e.text, foreignWords(e.text), false) // it may replace such characters in data
		}
	}
}

// foreignTask reports foreign characters in the names that a task contains.
func (c *checker) foreignTask(t Task) {
	if names, is := t.(interface{ names() []Value }); is {
		for _, v := range names.names() {
			c.foreignText(v.Pointer, v.Text(), foreignSigns(v.Text()), false) // the definition of the name may contain them
		}
	}
	if try, is := t.(*TryTask); is && try.Catch.Errors != nil {
		at := try.Catch.Errors.Pointer.Key("type")
		if !slices.ContainsFunc(c.found, func(d Diagnostic) bool { return d.Pointer == at }) { // otherwise its help contains the character
			c.foreignSign(at, try.Catch.Errors.Type)
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
		if strings.HasSuffix(string(v.Pointer), "/environment") {
			c.foreignKeys(v)
		}
	case propertyCode:
		c.foreignCode(v)
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

// foreignCode reports foreign characters in a command or a script.
func (c *checker) foreignCode(v Value) {
	if delimited.Is(v.Text()) {
		return
	}
	language := "shell"
	if at, is := strings.CutSuffix(string(v.Pointer), "/code"); is {
		language, _ = c.w.Source.Data(Pointer(at).Key("language")).(string)
	}
	c.foreignText(v.Pointer, v.Text(), foreignCode(v.Text(), language), true)
}

// foreignKey reports the foreign characters in the name at a pointer.
func (c *checker) foreignKey(at Pointer, name string) {
	if all := foreignName(name); len(all) > 0 {
		d := foreignDiagnostic(at, name, all)
		d.Range = c.w.Source.Key(at)
		if key, _, exact := c.w.Source.find(at); exact {
			d.Fix = onlyIf(false, c.plainEdits(key, name, all)) // other places may contain the name
		}
		c.add(d)
	}
}

// foreignSign reports the foreign characters in a text that is no prose: its signs are those of ASCII too, unless it is in another script.
func (c *checker) foreignSign(at Pointer, text string) {
	if !delimited.Is(text) { // expressions are looked at by themselves
		c.foreignText(at, text, foreignSigns(text), true)
	}
}

// foreignText reports the foreign characters at offsets of the value at a pointer. Certain reports whether nobody can mean them.
func (c *checker) foreignText(at Pointer, text string, all []int, certain bool) {
	if len(all) == 0 {
		return
	}
	_, size := utf8.DecodeRuneInString(text[all[0]:])
	d := foreignDiagnostic(at, text, all)
	d.Range = c.w.Source.Within(at, all[0], all[0]+size)
	if _, n, exact := c.w.Source.find(at); exact && n.Kind == yaml.ScalarNode {
		d.Fix = onlyIf(certain, c.plainEdits(n, text, all))
	}
	c.add(d)
}

// foreignDiagnostic describes the foreign characters at offsets of a text. The first maxForeign of them are named.
func foreignDiagnostic(at Pointer, text string, all []int) Diagnostic {
	const maxForeign = 4
	d := Diagnostic{Code: "SW209", Pointer: at}
	for n, i := range all {
		if n == maxForeign {
			d.Message += fmt.Sprintf(", and %d more", len(all)-n)
			break
		}
		r, _ := utf8.DecodeRuneInString(text[i:])
		named := fmt.Sprintf("%s at position %d", characterName(r), utf8.RuneCountInString(text[:i])+1)
		is, help := foreignMeaning(r)
		if n > 0 {
			d.Message, d.Help = d.Message+", "+named+" "+is, fmt.Sprintf("write `%s`", shorten.To(foreignReplaced(text, all), 100))
			continue
		}
		d.Message, d.Help = "the character "+named+" "+is, help
	}
	return d
}

// foreignMeaning returns what a foreign character looks like, and the help to replace it.
func foreignMeaning(r rune) (is, help string) {
	switch plain := plainRune(plainQuote(r)); {
	case plain < 0:
		return "is invisible", "remove it"
	case plain == ' ':
		return "looks like a space", "write a plain space, or remove it"
	default:
		return fmt.Sprintf("looks like `%c`", plain), fmt.Sprintf("write a plain `%c` in its place", plain)
	}
}

// foreignReplaced returns a text with plain characters at some offsets.
func foreignReplaced(text string, all []int) string {
	var b strings.Builder
	for i, r := range text {
		if !slices.Contains(all, i) {
			b.WriteRune(r)
		} else if plain := plainRune(plainQuote(r)); plain >= 0 {
			b.WriteRune(plain)
		}
	}
	return b.String()
}

// plainEdits replaces the foreign characters at offsets of a scalar. It is nil if one of them is written as an escape, or if its replacement could be a
// sign of YAML.
func (c *checker) plainEdits(n *yaml.Node, text string, all []int) (edits []source.Edit) {
	for _, i := range all {
		r, size := utf8.DecodeRuneInString(text[i:])
		edit := source.Edit{Range: c.w.Source.RangeWithin(n, i, i+size), Safe: true}
		if string(c.w.Source.Text[edit.Range.Start.Offset:edit.Range.End.Offset]) != string(r) {
			return nil
		}
		switch plain := plainRune(plainQuote(r)); {
		case plain < 0:
		case plain == '-' || plain == ' ':
			edit.Safe = false // the sign may be meant
			if i == 0 || text[i-1] == ':' || strings.HasPrefix(text[i+size:], "#") {
				return nil
			}
			fallthrough
		case plain <= unicode.MaxASCII && (unicode.IsLetter(plain) || unicode.IsDigit(plain)):
			edit.NewText = string(plain)
		default:
			return nil
		}
		edits = append(edits, edit)
	}
	return edits
}
