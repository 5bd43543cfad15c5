package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// version decodes a semantic version.
func (o *object) version(name string) string {
	n := o.value(name)
	if n == nil {
		return ""
	}
	version := n.Value
	if !source.IsText(n) && !source.IsNumber(n) {
		return o.text(name)
	}
	if !IsVersion(version) {
		d := Diagnostic{
			Code: "SW111", Message: fmt.Sprintf("`%s` must be a semantic version such as 1.0.0, got %s", name, shorten.Quoted(version)),
			Pointer: o.at.Key(name), Range: o.p.src.RangeOf(n),
		}
		if completed := likelyVersion(version); completed != "" {
			d.Label = fmt.Sprintf("did you mean `%s`?", completed)
			d.Fix = o.p.src.ReplaceQuoted(n, completed)
		} else {
			d.Help = "write three numbers, such as `1.0.0`"
		}
		o.p.add(d)
		return ""
	}
	return version
}

// Latest is the version that represents the highest version.
const Latest = "latest"

// versionOrLatest decodes a semantic version, or latest.
func (o *object) versionOrLatest(name string) string {
	if n := o.value(name); n != nil && n.Value == Latest {
		return o.text(name)
	}
	return o.version(name)
}

// IsVersion reports whether text can be the version of a workflow: a whole semantic version.
func IsVersion(text string) bool {
	_, err := semver.StrictNewVersion(text)
	return err == nil
}

var (
	notInName   = lazyregexp.New(`[^a-zA-Z0-9]+`)
	namePattern = lazyregexp.New(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)
)

// IsName reports whether text can be a namespace or the name of a workflow.
func IsName(text string) bool { return namePattern().MatchString(text) }

// name decodes a namespace or the name of a workflow.
func (o *object) name(property string) string {
	n := o.value(property)
	if n == nil {
		return ""
	}
	name := o.text(property)
	if name != "" && !IsName(name) {
		o.p.add(Diagnostic{
			Code: "SW112", Message: fmt.Sprintf("`%s` must be at most 63 letters, digits and inner hyphens, got %s", property, shorten.Quoted(name)),
			Pointer: o.at.Key(property), Range: o.p.src.RangeOf(n), Label: hyphenated(name),
		})
	}
	return name
}

// hyphenated suggests the same name with hyphens in place of invalid characters, or returns "" if that is not a name either.
func hyphenated(name string) string {
	meant := strings.Trim(notInName().ReplaceAllString(name, "-"), "-")
	if !IsName(meant) {
		return ""
	}
	return didYouMean(meant)
}

func (o *object) boolean(name string) bool {
	n := o.value(name)
	if n == nil {
		return false
	}
	if !source.IsBool(n) {
		o.p.noBoolean(n, o.at.Key(name), fmt.Sprintf("`%s` must be true or false", name))
		return false
	}
	return n.Value[0] == 't' || n.Value[0] == 'T'
}

// noBoolean reports a value of another type in the place of a boolean, as wrongType does. Words of YAML 1.1 and quotes are the likeliest mistakes.
func (p *parser) noBoolean(n *yaml.Node, at Pointer, message string) {
	d := Diagnostic{Code: "SW108", Message: message + ", got " + source.Describe(n), Pointer: at, Range: p.src.RangeOf(n)}
	d.Help = "write `true` or `false`"
	if n.Kind == yaml.ScalarNode {
		switch strings.ToLower(n.Value) {
		case "true", "false":
			d.Help = "write it without quotes, in small letters"
		case "yes", "on", "y", "1":
			d.Help = "write `true`"
		case "no", "off", "n", "0":
			d.Help = "write `false`"
		}
		if delimited.Is(n.Value) {
			d.Help = "it cannot be an expression"
		}
	}
	p.add(d)
}

// booleanOr decodes a boolean that has a default.
func (o *object) booleanOr(name string, otherwise bool) bool {
	if o.value(name) == nil {
		return otherwise
	}
	if n := o.value(name); source.IsBool(n) {
		return o.boolean(name)
	}
	o.boolean(name) // reports
	return otherwise
}

// integer decodes a whole number; nil if it is absent or wrong.
func (o *object) integer(name string) *int {
	n := o.value(name)
	if n == nil {
		return nil
	}
	if i, ok := wholeNumber(n); ok {
		return &i
	}
	o.p.wrongType(n, o.at.Key(name), "`"+name+"`", wholeNumbers)
	return nil
}

// count decodes a number of times.
func (o *object) count(name string) *int {
	i := o.integer(name)
	if i != nil && *i < 0 {
		o.report("SW123", name, fmt.Sprintf("`%s` must not be negative, got %d", name, *i))
		return nil
	}
	return i
}

// number decodes a number; ok is false if it is absent or wrong.
func (o *object) number(name string) (v float64, ok bool) {
	n := o.value(name)
	if n == nil {
		return 0, false
	}
	switch v := source.Data(n).(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	o.p.wrongType(n, o.at.Key(name), "`"+name+"`", numbers)
	return 0, false
}

// wholeNumber reads an int; 2.0 is one too, as in JSON Schema.
func wholeNumber(n *yaml.Node) (int, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	switch v := source.Data(n).(type) {
	case int:
		return v, true
	case float64:
		return int(v), v == float64(int(v))
	}
	return 0, false
}

// enum decodes one of a few words; the first is the default.
func (o *object) enum(name string, values ...string) string {
	n := o.value(name)
	if n == nil {
		return values[0]
	}
	text := o.text(name)
	switch {
	case text == "": // reported
		return values[0]
	case slices.Contains(values, text):
		return text
	}
	d := Diagnostic{
		Code: "SW109", Message: fmt.Sprintf("`%s` cannot be %s", name, shorten.Quoted(text)), Pointer: o.at.Key(name),
		Range: o.p.src.RangeOf(n), Expected: values, Help: "allowed: " + strings.Join(values, " "),
	}
	if meant := otherSpelling(text, values); meant != "" {
		d.Label, d.Fix = didYouMean(meant), onlyIf(false, o.p.src.Replace(n, meant))
		o.p.add(d)
		return values[0]
	}
	o.p.add(o.p.src.suggested(d, n, values, suggest.Name)) // short words resemble each other, so only a near match is safe
	return values[0]
}
