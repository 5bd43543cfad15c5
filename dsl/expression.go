package dsl

import "fmt"

// Expression is a property that is always an expression, with or without ${ } around it (semantics 2.3).
type Expression struct {
	Pointer Pointer
	Text    string // empty if the property is absent
}

// Value is a property that may contain expressions.
type Value struct {
	Pointer Pointer
	Data    any // as it is written; nil if the property is absent
	Form    Form
}

// Form is the rule by which texts of a value are expressions.
type Form uint8

// The forms.
const (
	// FormData: every text in the value that is ${ } as a whole; in loose mode also others.
	FormData Form = iota
	// FormTransform: if the value is text, it is an expression with or without ${ }; otherwise as FormData.
	FormTransform
	// FormText: the value is text, which is an expression only if it is ${ } as a whole, in any mode.
	FormText
)

// Text returns the value if it is text, or "".
func (v Value) Text() string {
	text, _ := v.Data.(string)
	return text
}

// Reference is a place of the document that names a definition under use.
type Reference struct {
	Pointer Pointer
	Section string // of use: timeouts, retries, ...
	Name    string // empty if the property is absent
}

// Undefined returns the diagnostic for a reference to a name that is not defined.
func (r Reference) Undefined() Diagnostic {
	return Diagnostic{Code: "SW203", Pointer: r.Pointer, Message: fmt.Sprintf("`%s` is not among use.%s", r.Name, r.Section)}
}

// expression decodes a property that is always an expression.
func (o *object) expression(name string) Expression {
	if o.value(name) == nil {
		return Expression{}
	}
	return Expression{o.at.Key(name), o.text(name)}
}

// reference decodes a name in a section of use.
func (o *object) reference(name, section string) Reference {
	return Reference{o.at.Key(name), section, o.text(name)}
}

// valueOf returns the value of a decoded property. If the property is absent, which is a nil map too, only its form is set.
func (o *object) valueOf(name string, data any, form Form) Value {
	if object, ok := data.(map[string]any); ok && object == nil {
		data = nil
	}
	if text, ok := data.(string); ok && text == "" && form != FormData {
		data = nil
	}
	if data == nil {
		return Value{Form: form}
	}
	return Value{o.at.Key(name), data, form}
}

// textValue decodes text that may be an expression.
func (o *object) textValue(name string) Value { return o.valueOf(name, o.text(name), FormText) }

// dataValue decodes any data that may contain expressions.
func (o *object) dataValue(name string) Value { return o.valueOf(name, o.data(name), FormData) }

// mappingValue decodes an object that may contain expressions.
func (o *object) mappingValue(name string) Value { return o.valueOf(name, o.mapping(name), FormData) }
