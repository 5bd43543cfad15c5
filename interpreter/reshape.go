package interpreter

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// Output is a compiled output: a template that reshapes data, and the schema of the result.
type Output struct{ transform }

// Export is a compiled export: a template for the new $context, and its schema.
type Export struct{ transform }

// Output compiles an output that is not the task's own output; without one, data stays unchanged.
func (b *Builder) Output(o *dsl.Output) Output { return Output{b.c.output(b, o)} }

// Export compiles an export that is not the task's own export; without one, nothing changes.
func (b *Builder) Export(e *dsl.Export) Export {
	if e == nil {
		return Export{}
	}
	return Export{b.c.transform(b, e.Schema, e.As)}
}

// Reshape applies an output to data.
func (s *Scope) Reshape(o Output, data any, vars Vars) (any, *errors.Error) {
	s.bound, s.output = vars, data
	reshaped, err := o.out(s, data)
	s.bound, s.output = nil, nil
	return reshaped, err
}

// Export applies an export to the result of an output.
func (s *Scope) Export(e Export, output any, vars Vars) *errors.Error {
	s.bound, s.output = vars, output
	err := s.m.export(s.frame, s, e.transform, output)
	s.bound, s.output = nil, nil
	return err
}
