package interpreter

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/limits"
)

// Schema validates data. A nil Schema accepts everything.
type Schema struct {
	document any
	draft    *jsonschema.Draft
	// plain is shared by all validations that need no count. A validation that counts its work compiles its own validator.
	plain  *validator
	values int  // of the document
	refers bool // the schema contains references, so that a value may be visited any number of times
}

// validator is a compiled schema that counts its work.
type validator struct {
	compiled *jsonschema.Schema
	work     *schemaWork
}

// valid returns a validation error if v does not fit a schema; what is the name of v in the error. It counts the work.
func (s *Scope) valid(schema *Schema, what string, v any) *errors.Error {
	if schema == nil {
		return nil
	}
	units, err := schema.validate(what, v)
	s.CountWork(units)
	return err
}

// validate returns a validation error if v does not fit, and the units of work, which are limited.
func (s *Schema) validate(what string, v any) (units int, fault *errors.Error) {
	units, err := s.check(v)
	return units, validationError(what, err)
}

// check is validate with the error of the validator.
func (s *Schema) check(v any) (units int, err error) {
	found := measure(v)
	one, err := s.validator(found)
	if err != nil {
		return s.values, err
	}
	err = one.validate(v, found)
	units = found.values + found.text/textPerWork
	if one.work.counted {
		units += s.values + maxCheckedWork - max(0, one.work.left) // it was compiled for this
	}
	return units, err
}

// validationError returns the workflow error of a validation that ended with err.
func validationError(what string, err error) *errors.Error {
	var invalid *jsonschema.ValidationError
	var limit *schemaLimitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return errors.Validationf("%s does not fit its schema: %s", what, leaves(invalid))
	}
	fault := errors.Validationf("%s cannot be checked against its schema: %s", what, err)
	if errors.As(err, &limit) {
		fault = limits.Annotate(fault, limit.name, limit.value, limit.max)
	}
	return fault
}

// validator returns a validator for data. Without references, each part of a schema meets each value at most once. If the product is small, the work
// need not be counted.
func (s *Schema) validator(data measured) (*validator, error) {
	if !s.refers && times(data.values, s.values) <= maxCheckedWork {
		return s.plain, nil
	}
	return newValidator(s.document, s.draft, true)
}

// validate runs the validator. It limits its work and turns its panics into errors, because the data may be hostile.
func (v *validator) validate(data any, found measured) (err error) {
	if err := v.work.excess(found); err != nil {
		return err
	}
	if found.extreme {
		data = withoutExtremes(data)
	}
	if v.work.highest.distinct && !distinguishable(data, maxCheckedWork) {
		return errors.New("it holds too many items that look alike to compare each with each")
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case workLimitError:
			// The rest of the work depends on the order in which the validator visits objects.
			err = &schemaLimitError{"schema work", maxCheckedWork + 1, maxCheckedWork, fmt.Sprintf("this takes more than %d steps", maxCheckedWork)}
		default:
			err = fmt.Errorf("the validator fails: %.200v", r)
		}
	}()
	return v.compiled.Validate(data)
}

const (
	maxLeaves    = 10
	maxLeafBytes = 300
)

// leaves describes the causes that no deeper cause explains: the first causes, and the number of the others. The validator visits objects in random
// order, but the message must always be the same.
func leaves(e *jsonschema.ValidationError) string {
	var messages []string
	for _, m := range misfits(e) {
		messages = append(messages, m.text())
	}
	if more := len(messages) - maxLeaves; more > 0 {
		messages = append(messages[:maxLeaves], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(messages, "; ")
}

// causes returns the causes that no deeper cause explains.
func causes(e *jsonschema.ValidationError) (deepest []*jsonschema.ValidationError) {
	todo := []*jsonschema.ValidationError{e}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(e.Causes) == 0 {
			deepest = append(deepest, e)
		}
		todo = append(todo, e.Causes...)
	}
	return deepest
}

// leafMessage describes one cause. It repeats no text of the data: a part of a secret could not be recognised in it.
func leafMessage(e *jsonschema.ValidationError) string {
	message := e.Message
	if i := strings.LastIndex(message, " is not valid "); strings.HasSuffix(e.KeywordLocation, "/format") && i >= 0 {
		message = message[i+1:]
	}
	if names, ok := strings.CutPrefix(message, "additionalProperties "); ok {
		all := strings.Split(strings.TrimSuffix(names, " not allowed"), ", ")
		slices.Sort(all)
		message = "not allowed: " + strings.Join(all, ", ")
	}
	return message
}

func shortened(text string) string { return shorten.To(text, maxLeafBytes) }

// schema compiles a schema definition; its dialect is draft-07 unless it specifies another one (semantics 3.9).
func (c *compiler) schema(s *dsl.Schema) *Schema {
	if s == nil {
		return nil
	}
	document := s.Document
	if s.Resource != nil {
		data, ok := c.resource(s.Resource)
		if !ok {
			return nil
		}
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
		err := jsonvalue.CheckUTF8(data)
		if err == nil {
			document, err = expr.Decode(data)
		}
		if err != nil {
			c.report("SW803", s.Resource.Pointer, fmt.Sprintf("%s is not a JSON document: %s", s.Resource.Endpoint.URI.Text(), err), "")
			return nil
		}
	}
	if d, unsupported := s.Unsupported(); unsupported {
		c.add(d)
		return nil
	}
	draft := jsonschema.Draft7
	switch s.Dialect() {
	case dsl.Draft2020:
		draft = jsonschema.Draft2020
	case dsl.Draft2019:
		draft = jsonschema.Draft2019
	}
	compiled, err := newSchema(document, draft)
	if err != nil {
		c.unusable(s, err)
		return nil
	}
	return compiled
}

// unusable reports a schema that cannot be compiled, at the wrong place in it if that place is in the document.
func (c *compiler) unusable(s *dsl.Schema, err error) {
	const what = "this is not a valid JSON Schema: "
	var invalid *invalidSchemaError
	if s.Resource != nil || !errors.As(err, &invalid) {
		c.report("SW803", s.Pointer, what+err.Error(), "")
		return
	}
	all := slices.Sorted(maps.Keys(invalid.places))
	for _, place := range all[:min(len(all), maxLeaves)] {
		at := s.Pointer.Key("document") + dsl.Pointer(place)
		c.report("SW803", at, what+strings.Join(invalid.places[place], "; "), schemaHelp(at, c.workflow.Source.Data(at)))
	}
}

// schemaHelp returns the correct text for a value that JSON Schema does not allow at its place but that other languages use there, or "".
func schemaHelp(at dsl.Pointer, value any) string {
	tokens := at.Tokens()
	last, around := tokens[len(tokens)-1], tokens[len(tokens)-2]
	text, _ := value.(string)
	kind := map[string]string{
		"object": "object", "map": "object", "dict": "object", "string": "string", "str": "string", "text": "string", "int": "integer", "integer": "integer", "long": "integer",
		"float": "number", "double": "number", "decimal": "number", "number": "number", "bool": "boolean", "boolean": "boolean", "array": "array", "list": "array",
	}[strings.ToLower(text)]
	switch {
	case last == "type" && kind != "":
		return fmt.Sprintf("write `type: %s`", kind)
	case around == "properties" && kind != "":
		return fmt.Sprintf("write `%s: { type: %s }`", shortened(last), kind)
	case last == "required" && value == true:
		return fmt.Sprintf("write `required: [%s]` beside `properties`", shortened(around))
	case last == "required" && text != "":
		return fmt.Sprintf("write `required: [%s]`", shortened(text))
	}
	return ""
}

// invalidSchemaError is a schema that does not fit the schema of schemas.
type invalidSchemaError struct {
	places map[string][]string // the mistakes by their place in the schema
}

func newInvalidSchemaError(cause *jsonschema.ValidationError, document any) *invalidSchemaError {
	e := &invalidSchemaError{map[string][]string{}}
	for _, leaf := range causes(cause) {
		message := shortened(leafMessage(leaf))
		if text, isText := valueAt(document, leaf.InstanceLocation).(string); isText && strings.HasSuffix(leaf.KeywordLocation, "/format") {
			if why := unfitPattern(text); why != "" {
				message = why
			}
		}
		e.places[leaf.InstanceLocation] = append(e.places[leaf.InstanceLocation], message)
	}
	for place := range e.places {
		if e.above(place) {
			delete(e.places, place)
			continue
		}
		slices.Sort(e.places[place])
		e.places[place] = slices.Compact(e.places[place])
	}
	return e
}

// above reports whether the schema contains a mistake below a place. If a part may have one of several forms, it is wrong in each of them. The form
// that its author meant is the form with a mistake inside.
func (e *invalidSchemaError) above(place string) bool {
	for other := range e.places {
		if strings.HasPrefix(other, place+"/") {
			return true
		}
	}
	return false
}

// Error lists the mistakes.
func (e *invalidSchemaError) Error() string {
	var messages []string
	for _, place := range slices.Sorted(maps.Keys(e.places)) {
		text := strings.Join(e.places[place], "; ")
		if place != "" {
			text = shortened(place) + ": " + text
		}
		messages = append(messages, text)
	}
	if more := len(messages) - maxLeaves; more > 0 {
		messages = append(messages[:maxLeaves], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(messages, "; ")
}

func newSchema(document any, draft *jsonschema.Draft) (*Schema, error) {
	plain, err := newValidator(document, draft, false)
	if err != nil {
		return nil, err
	}
	return &Schema{document: document, draft: draft, plain: plain, values: measure(document).values, refers: refers(document)}, nil
}

// refers reports whether a schema may refer to a part of itself.
func refers(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, refers)
	case map[string]any:
		for name, member := range v {
			if strings.HasPrefix(name, "$") && strings.HasSuffix(name, "ef") || refers(member) {
				return true
			}
		}
	}
	return false
}

const (
	maxSchemaDepth  = 100
	maxSchemaValues = 20_000
)

// newValidator compiles a schema, which may be hostile too, because it may come from others.
func newValidator(document any, draft *jsonschema.Draft, counted bool) (v *validator, err error) {
	found := measure(document)
	switch {
	case found.depth > maxSchemaDepth:
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxSchemaDepth)
	case found.values > maxSchemaValues:
		return nil, fmt.Errorf("it has more than %d values", maxSchemaValues)
	case found.extreme:
		return nil, fmt.Errorf("it has a number with more than %d digits, or beyond 1e%d", maxNumberLetters, maxNumberLetters)
	}
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("it cannot be compiled: %.200v", r)
		}
	}()
	work := &schemaWork{counted: counted, left: maxCheckedWork}
	compiled, err := compileSchema(document, draft, work)
	if err != nil {
		return nil, err
	}
	return &validator{compiled, work}, nil
}

func compileSchema(document any, draft *jsonschema.Draft, work *schemaWork) (*jsonschema.Schema, error) {
	const url = "workflow:schema.json"
	text, err := expr.Encode(document)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = draft
	compiler.RegisterExtension("work", nil, work)
	compiler.LoadURL = func(ref string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("the reference %s leaves the schema, which is not allowed", ref)
	}
	if err := compiler.AddResource(url, strings.NewReader(string(text))); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(url)
	var invalid *jsonschema.SchemaError
	if errors.As(err, &invalid) {
		var cause *jsonschema.ValidationError
		if errors.As(invalid.Err, &cause) {
			return nil, newInvalidSchemaError(cause, document)
		}
		return nil, invalid.Err
	}
	return compiled, err
}

// inputName is the name in errors of a value for an input schema.
const inputName = "the input"

// in applies an input transform: schema on the raw value, then from (semantics 3.1).
func (t transform) in(s *Scope, raw any) (any, *errors.Error) {
	if err := s.valid(t.schema, inputName, raw); err != nil {
		return nil, err
	}
	return t.apply(s, raw)
}

// out applies an output transform: as, then schema on the result.
func (t transform) out(s *Scope, raw any) (any, *errors.Error) {
	output, err := t.apply(s, raw)
	if err != nil {
		return nil, err
	}
	return output, s.valid(t.schema, "the output", output)
}
