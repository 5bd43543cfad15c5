package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// This file finds workflows that deployed documents run, and that are nowhere.

// warnOfChildren says which tasks run workflows that are not deployed. Those may be deployed later: nothing is refused because of them.
func (o *operation) warnOfChildren(ctx context.Context, all []*swrun.Document) error {
	var text strings.Builder
	l := o.errStyle()
	for _, d := range all {
		for _, c := range childrenOf(d.Workflow) {
			missing, err := o.missing(ctx, c.Reference)
			if err != nil {
				return err
			}
			if missing != "" {
				fmt.Fprintf(&text, "%s %s:%d runs %s, and %s\n", l.Yellow("warning:"), terminal.Printable(d.File), c.line, l.Text(c.Name+" of "+c.Namespace), l.Text(missing))
			}
		}
	}
	if text.Len() > 0 {
		text.WriteString("  deploy what is missing before those tasks begin, or they fail: swrun deploy DOC... takes several documents, in any order\n")
	}
	return write(o.err, text.String())
}

// child is a workflow that a task runs or continues as, and the line of the first such task.
type child struct {
	definition.Reference
	line int
}

// childrenOf returns the workflows that the tasks of w name.
func childrenOf(w *dsl.Workflow) (all []child) {
	dsl.Walk(w, func(t dsl.Task) bool {
		for _, r := range definition.ChildrenOfTask(w, t) {
			if !slices.ContainsFunc(all, func(c child) bool { return c.Reference == r }) {
				all = append(all, child{r, w.Source.Key(t.Base().Pointer).Start.Line})
			}
		}
		return true
	})
	return all
}

// missing says what of a workflow is not deployed; empty if it is.
func (o *operation) missing(ctx context.Context, r definition.Reference) (string, error) {
	deployed, err := o.deployment.Workflow(ctx, r.Namespace, r.Name)
	if err != nil && store.RefusedAs(err) != store.NoSuch {
		return "", err
	}
	versions := []string{}
	for _, v := range deployed.Versions {
		versions = append(versions, v.Version)
	}
	switch {
	case len(versions) == 0:
		return "no such workflow is deployed", nil
	case r.Version == definition.Latest || slices.Contains(versions, r.Version):
		return "", nil
	}
	return fmt.Sprintf("its version %s is not deployed: there are %s", r.Version, strings.Join(versions[:min(len(versions), 5)], ", ")), nil
}
