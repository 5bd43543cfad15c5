package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
)

// This file finds workflows that deployed documents and functions run, but that are not deployed.

// running is a deployed document or function that may run workflows.
type running struct {
	file     string
	children func(swrun.Host) ([]definition.Child, error)
	known    []definition.Child // known even if the functions which it calls cannot be read
	source   *dsl.Source
}

func ofDocuments(all []*swrun.Document) (found []running) {
	for _, d := range all {
		found = append(found, running{d.File, d.Children, definition.Children(d.Workflow), d.Workflow.Source})
	}
	return found
}

func ofFunction(f *swrun.Function) running {
	w, _, _ := dsl.ParseFunction(f.File, f.Text, f.Name, "") // it is deployed, so that it has no errors
	return running{file: f.File, children: f.Children, source: w.Source}
}

// missingChild is a workflow that a task of a document runs, and that is not deployed.
type missingChild struct {
	definition.Child
	file string
	line int    // of the task
	what string // the missing part: the workflow, or a version of it
}

// unreadChildren is a document whose called functions cannot be read, so that their workflows are unknown.
type unreadChildren struct {
	file string
	err  error
}

// resourcesFrom returns the host that reads the external resources of documents that are deployed by this operation.
func (o *operation) resourcesFrom() swrun.Host { return o.deployment.Host() }

// withResources returns documents with the external resources that they need, so that they are read once.
func (o *operation) withResources(all []*swrun.Document) ([]*swrun.Document, error) {
	if err := swrun.Distinct(all...); err != nil {
		return nil, err
	}
	whole := make([]*swrun.Document, len(all))
	for n, d := range all {
		var err error
		if whole[n], err = d.WithResources(o.resourcesFrom()); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// wholeToDeploy is withResources for documents that are deployed next. If they cannot be read, the audit trail records the failed deployment. It ends
// with ctx: a read in flight changes nothing, and is given up.
func (o *operation) wholeToDeploy(ctx context.Context, all []*swrun.Document) ([]*swrun.Document, error) {
	var whole []*swrun.Document
	var err error
	read := make(chan struct{})
	go func() { whole, err = o.withResources(all); close(read) }()
	select {
	case <-read:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if o.store != nil && err != nil {
		o.note(ctx, o.store, change{operation: "putWorkflow", subject: documentNames(all)}, err.Error())
	}
	return whole, err
}

// missingChildren returns the workflows that tasks of some documents and functions run, and that are not deployed. It is called after all of them are
// deployed: they may run each other.
func (o *operation) missingChildren(ctx context.Context, all []running) (found []missingChild, unread []unreadChildren, err error) {
	for _, d := range all {
		children, err := d.children(o.resourcesFrom())
		if err != nil {
			unread = append(unread, unreadChildren{d.file, err})
			children = d.known
		}
		for _, c := range children {
			what, err := o.missing(ctx, c.Reference)
			if err != nil {
				return nil, nil, err
			}
			if what != "" {
				found = append(found, missingChild{c, d.file, d.source.Key(c.Task).Start.Line, what})
			}
		}
	}
	return found, unread, nil
}

// warnOfChildren prints the tasks that run workflows which are not deployed, with the remedy. These workflows may be deployed later: nothing is
// refused because of them.
func (o *operation) warnOfChildren(ctx context.Context, all []running, help string) error {
	found, unread, err := o.missingChildren(ctx, all)
	if err != nil {
		return err
	}
	var text strings.Builder
	l := o.errStyle()
	for _, u := range unread {
		fmt.Fprintf(&text, "%s %s calls functions that cannot be read now, and so it is unknown which workflows they run: %s\n", l.Yellow("warning:"), terminal.Printable(u.file), l.Text(u.err.Error()))
	}
	for _, m := range found {
		runs := "runs "
		if m.Function != "" {
			runs = "calls the function at " + errors.MaskURL(m.Function) + ", which runs "
		}
		fmt.Fprintf(&text, "%s %s:%d %s, and %s\n", l.Yellow("warning:"), terminal.Printable(m.file), m.line, l.Text(runs+m.Name+" of "+m.Namespace), l.Text(m.what))
	}
	if len(found) > 0 {
		text.WriteString("  " + help + "\n")
	}
	return write(o.err, text.String())
}

// tellMissingChildren logs the tasks of served documents that run workflows which are not deployed.
func (s *served) tellMissingChildren(ctx context.Context, all []*swrun.Document) error {
	found, unread, err := s.missingChildren(ctx, ofDocuments(all))
	for _, u := range unread {
		s.log.Warn("functions that a document calls cannot be read, and so it is unknown which workflows they run", "file", u.file, "error", u.err)
	}
	for _, m := range found {
		about := []any{"file", m.file, "line", m.line, "workflow", m.Reference.String(), "missing", m.what}
		if m.Function != "" {
			about = append(about, "function", errors.MaskURL(m.Function))
		}
		s.log.Warn("a task runs a workflow that is not deployed, and fails unless that is deployed before it begins", about...)
	}
	return err
}

// missing returns the missing part of a workflow; empty if it is deployed.
func (o *operation) missing(ctx context.Context, r definition.Reference) (string, error) {
	deployed, err := o.deployment.Workflow(ctx, r.Namespace, r.Name)
	if err != nil && !api.IsNotFound(err) {
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
