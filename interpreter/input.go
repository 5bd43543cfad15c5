package interpreter

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/swrun/swrun/errors"
)

// Misfit is one place at which data do not fit a schema.
type Misfit struct {
	Pointer string // JSON Pointer in the data; empty for the whole
	Message string
}

// CheckInput returns the error with which a run of this input would end before its first task because `input.schema` of the workflow refuses the
// input, and all wrong places. The error is nil if the schema accepts the input. There are no places if the schema cannot check the input.
func (p *Program) CheckInput(input any) (*errors.Error, []Misfit) {
	schema := p.input.schema
	if schema == nil {
		return nil, nil
	}
	_, err := schema.check(p.redactions().EscapeReferences(input))
	fault := validationError(inputName, err)
	if fault == nil {
		return nil, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fault.At("/"), nil
	}
	return fault.At("/"), slices.Compact(misfits(invalid))
}

// misfits returns the causes that no deeper cause explains. The validator visits objects in random order; the order of the result is always the same.
func misfits(e *jsonschema.ValidationError) []Misfit {
	var all []Misfit
	for _, cause := range causes(e) {
		all = append(all, Misfit{shortened(cause.InstanceLocation), shortened(leafMessage(cause))})
	}
	slices.SortFunc(all, func(a, b Misfit) int { return strings.Compare(a.text(), b.text()) })
	return all
}

// text describes the place and the mistake.
func (m Misfit) text() string {
	if m.Pointer == "" {
		return m.Message
	}
	return m.Pointer + ": " + m.Message
}
