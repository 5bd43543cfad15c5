package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/suggest"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// This file has the checks that refuse values which no run has.

// among returns a check that refuses texts that match none of the allowed texts.
func among(what string, allowed []string) func(*value) error {
	return func(v *value) error {
		switch {
		case slices.ContainsFunc(allowed, v.fitsText):
			return nil
		case v.isPattern():
			return &Error{Text: v.text, Problem: "is a pattern that fits nothing that is " + what, Hint: "allowed: " + strings.Join(allowed, ", ")}
		}
		return unknown(v.text, what, allowed)
	}
}

// whether returns the check of a field that is yes or no. It refuses patterns: * would choose the runs for which the answer is no, too.
func whether(what, hint string) func(*value) error {
	both := []string{yes, no}
	return func(v *value) error {
		if v.isPattern() {
			return &Error{Text: v.text, Problem: "is a pattern, where yes or no is asked: whether " + what, Hint: hint}
		}
		return among("whether "+what, both)(v)
	}
}

// literally returns a check of the values that are not patterns.
func literally(allow func(text string) error) func(*value) error {
	return func(v *value) error {
		if v.isPattern() {
			return nil
		}
		return allow(v.text)
	}
}

const (
	neverLatest = "is no version: a run is one of a version, and never of " + definition.Latest
	hintVersion = "name a version, or leave it out"
)

// allowVersion refuses latest, which is the version of no run, and invalid versions.
func allowVersion(text string) error {
	switch {
	case text == definition.Latest:
		return &Error{Text: text, Problem: neverLatest, Hint: hintVersion}
	case !definition.IsVersion(text):
		return &Error{Text: text, Problem: "is no version of a workflow", Hint: "for example 1.0.0, or 1.* for several"}
	}
	return nil
}

// allowID refuses invalid IDs of runs.
func allowID(text string) error {
	if (store.Instance{Namespace: "x", ID: text}).Check() == nil {
		return nil
	}
	e := &Error{Text: text, Problem: "is the id of no run: it must be letters and digits, with . _ ~ : - inside", Hint: "for example order-7, or order-* for several"}
	if i, err := store.ParseInstance(text); err == nil {
		e.Hint = "namespace=" + i.Namespace + " id=" + quoteUnlessPlain(i.ID) + " is this run"
	}
	return e
}

// allowNamespace refuses invalid names of namespaces.
func allowNamespace(text string) error {
	if err := store.CheckNamespace(text); err != nil {
		return &Error{Text: text, Problem: "is no namespace: it must be letters, digits and inner hyphens", Hint: "for example demo, or demo-* for several"}
	}
	return nil
}

// allowWorkflow refuses incomplete and invalid names of workflows.
func allowWorkflow(text string) error {
	reference, err := definition.ParseReference(text)
	switch {
	case err != nil:
		return &Error{Text: text, Problem: "does not name a workflow: it must be namespace/name or namespace/name:version", Hint: "for example demo/order; a filter such as 'workflow=*order' takes patterns"}
	case strings.ContainsAny(text, "*?"):
		return &Error{Text: text, Problem: "is a pattern, where one workflow is named", Hint: "for example demo/order; a filter such as 'workflow=demo/*' takes patterns"}
	case reference.Version == definition.Latest && strings.HasSuffix(text, ":"+definition.Latest):
		return &Error{Text: text, Problem: neverLatest, Hint: hintVersion}
	}
	return nil
}

// allowError refuses a misspelt name of a standard error.
func allowError(text string) error {
	names := []string{errors.Name(errors.Limit)}
	for _, s := range errors.Standards() {
		names = append(names, s.Name)
	}
	near := suggest.Nearest(text, names)
	if near == "" || near == text {
		return nil
	}
	return &Error{Text: text, Problem: fmt.Sprintf("is not a type of error; did you mean %s?", near), Hint: `a type of your own: error=*` + text + `, or all of its URI`}
}
