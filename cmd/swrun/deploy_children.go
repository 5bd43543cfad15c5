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

// missingChild is a workflow that a task of a document runs, and that is not deployed.
type missingChild struct {
	child
	file string
	what string // is missing: the workflow, or a version of it
}

// missingChildren returns the workflows that tasks of some documents run, and that are not deployed. It is called when all of the documents are
// deployed: they may run each other.
func (o *operation) missingChildren(ctx context.Context, all []*swrun.Document) (found []missingChild, err error) {
	for _, d := range all {
		for _, c := range childrenOf(d.Workflow) {
			what, err := o.missing(ctx, c.Reference)
			if err != nil {
				return nil, err
			}
			if what != "" {
				found = append(found, missingChild{c, d.File, what})
			}
		}
	}
	return found, nil
}

// warnOfChildren prints which tasks run workflows that are not deployed, and what to do. Those may be deployed later: nothing is refused because of
// them.
func (o *operation) warnOfChildren(ctx context.Context, all []*swrun.Document, help string) error {
	found, err := o.missingChildren(ctx, all)
	if err != nil || len(found) == 0 {
		return err
	}
	var text strings.Builder
	l := o.errStyle()
	for _, m := range found {
		fmt.Fprintf(&text, "%s %s:%d runs %s, and %s\n", l.Yellow("warning:"), terminal.Printable(m.file), m.line, l.Text(m.Name+" of "+m.Namespace), l.Text(m.what))
	}
	return write(o.err, text.String()+"  "+help+"\n")
}

// tellMissingChildren logs which tasks of served documents run workflows that are not deployed.
func (s *served) tellMissingChildren(ctx context.Context, all []*swrun.Document) error {
	found, err := s.missingChildren(ctx, all)
	for _, m := range found {
		s.log.Warn("a task runs a workflow that is not deployed, and fails unless that is deployed before it begins",
			"file", m.file, "line", m.line, "workflow", m.Reference.String(), "missing", m.what)
	}
	return err
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
