package dsl

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// Input transforms and validates the input of a task or a workflow.
type Input struct {
	Schema *Schema
	From   Value // an expression, or an object that contains expressions
}

// Output transforms and validates the output of a task or a workflow.
type Output struct {
	Schema *Schema
	As     Value // as Input.From
}

// Export replaces the workflow's context.
type Export struct {
	Schema *Schema
	As     Value // as Input.From
}

func (p *parser) input(parent *object) *Input {
	if schema, from, ok := p.reshaped(parent, "input", "from"); ok {
		return &Input{Schema: schema, From: from}
	}
	return nil
}

func (p *parser) output(parent *object) *Output {
	if schema, as, ok := p.reshaped(parent, "output", "as"); ok {
		return &Output{Schema: schema, As: as}
	}
	return nil
}

func (p *parser) export(parent *object) *Export {
	if schema, as, ok := p.reshaped(parent, "export", "as"); ok {
		return &Export{Schema: schema, As: as}
	}
	return nil
}

// reshaped decodes `input`, `output` or `export`: the schema of the data, and the transformation under a property. ok is false if it is absent.
func (p *parser) reshaped(parent *object, name, property string) (schema *Schema, v Value, ok bool) {
	n := parent.value(name)
	if n == nil {
		return nil, Value{}, false
	}
	o := p.object(n, parent.at.Key(name), fmt.Sprintf("`%s`", name), "schema", property)
	return p.schema(o), o.transform(property), true
}

// transform decodes a transformation: an expression, or an object that contains expressions.
func (o *object) transform(name string) Value {
	n := o.value(name)
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode || source.IsText(n):
		return o.valueOf(name, o.dataOrText(name), FormTransform)
	default:
		o.p.wrongType(n, o.at.Key(name), "`"+name+"`", expressionOrObject)
	}
	return o.valueOf(name, nil, FormTransform)
}
