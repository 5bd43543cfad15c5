package client

import (
	"context"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// UnfitInputError is a start that is refused because `input.schema` of the workflow refuses the input. Nothing was started.
type UnfitInputError struct {
	Workflow definition.Reference
	Fault    *errors.Error        // with which the run would have failed before its first task
	Misfits  []interpreter.Misfit // the places that are wrong; empty if the schema cannot check the input
}

func (e *UnfitInputError) Error() string {
	return e.Workflow.String() + " cannot take the input: " + e.Fault.Detail
}

// Unwrap returns the error of the workflow.
func (e *UnfitInputError) Unwrap() error { return e.Fault }

// program returns the compiled workflow of a run. An error of an unreadable definition names the workflow.
func (c *Client) program(ctx context.Context, info *execution.Invocation) (*interpreter.Program, error) {
	p, err := c.programs.Program(ctx, info.Definition)
	return p, definition.NameUnreadable(info.Workflow, err)
}

// fits refuses an input that the workflow's schema rejects, with an *UnfitInputError, and the start of a workflow whose definition is
// damaged. A definition that cannot be compiled here is not checked: the worker of the run reports the error. A definition stored by a
// newer swrun is not checked either, since a worker of that version can perform the run.
func (c *Client) fits(ctx context.Context, info *execution.Invocation) error {
	if c.compile == nil {
		return nil
	}
	p, err := c.program(ctx, info)
	if errors.As(err, new(*definition.UnavailableError)) || store.RefusedAs(err) == store.Corrupt {
		return err
	}
	if err != nil {
		return nil
	}
	if fault, misfits := p.CheckInput(info.Input.V); fault != nil {
		return &UnfitInputError{Workflow: info.Workflow, Fault: fault, Misfits: misfits}
	}
	return nil
}

// fitsUnlessThere is fits for the start of a run. If a run with that ID exists, the start returns it, with any input.
func (c *Client) fitsUnlessThere(ctx context.Context, i store.Instance, info *execution.Invocation) error {
	unfit := c.fits(ctx, info)
	if !errors.As(unfit, new(*UnfitInputError)) {
		return unfit
	}
	_, err := c.store.Load(ctx, i)
	switch {
	case err == nil:
		return nil
	case store.RefusedAs(err) == store.NoSuch:
		return unfit
	}
	return err
}
