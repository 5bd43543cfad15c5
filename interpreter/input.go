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

// CheckInput returns the error with which a run of this input would end before its first task, because `input.schema` of the workflow refuses the
// input, and all places that are wrong. The error is nil if the schema takes it, and there are no places if the schema cannot check the input.
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

// misfits returns the causes that no deeper one explains. The validator goes through objects in any order; the order here is always the same.
func misfits(e *jsonschema.ValidationError) []Misfit {
	var all []Misfit
	for _, cause := range causes(e) {
		all = append(all, Misfit{shortened(cause.InstanceLocation), shortened(leafMessage(cause))})
	}
	slices.SortFunc(all, func(a, b Misfit) int { return strings.Compare(a.text(), b.text()) })
	return all
}

// text is the place and what is wrong there.
func (m Misfit) text() string {
	if m.Pointer == "" {
		return m.Message
	}
	return m.Pointer + ": " + m.Message
}
