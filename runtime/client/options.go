package client

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// This file checks the texts of starts and commands, which are stored and shown as they are.

// labelName matches a valid name of a label.
var labelName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$`)

// checkTexts reports the first of the options' texts that cannot be.
func (o StartOptions) checkTexts(set limits.Set) error {
	if err := text("businessKey", limits.BusinessKey, o.BusinessKey, set); err != nil {
		return err
	}
	if err := set.Check(limits.Labels, len(o.Labels)); err != nil {
		return limited("labels", err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		if err := set.Check(limits.LabelName, len(name)); err != nil {
			return limited("labels", err)
		}
		if !labelName().MatchString(name) {
			return &OptionError{Field: "labels", Detail: "a label's name must be letters, digits and . _ / - inside, got " + strconv.Quote(name)}
		}
		if err := text("labels", limits.LabelValue, o.Labels[name], set); err != nil {
			return err
		}
	}
	return nil
}

// text reports text that is too long, or that is not text for one line.
func text(field string, n limits.Name, v string, set limits.Set) error {
	if err := set.CheckText(n, v); err != nil {
		return NewOptionError(field, err)
	}
	return nil
}

// check reports the first option that cannot be, and an input that is too large.
func (o StartOptions) check(input any, set limits.Set) error {
	if err := o.Check(); err != nil {
		return err
	}
	if err := o.checkTexts(set); err != nil {
		return err
	}
	data, err := interpreter.Value{V: input}.MarshalJSON()
	if err != nil {
		return fmt.Errorf("write the input: %w", err)
	}
	return limited("input", set.Check(limits.Input, len(data)))
}

func limited(field string, err *errors.Error) error {
	if err == nil {
		return nil
	}
	return NewOptionError(field, err)
}

// NewOptionError returns the error of an option whose value is refused for a reason.
func NewOptionError(field string, reason error) *OptionError {
	if limit := errors.AsError(reason); limit != nil {
		return &OptionError{Field: field, Detail: limit.Detail, Limit: limit}
	}
	return &OptionError{Field: field, Detail: reason.Error()}
}
