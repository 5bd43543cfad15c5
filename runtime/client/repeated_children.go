package client

import (
	"context"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/store"
)

// This file finds out which calls the children of a fork make again. A child that a fork starts again begins at its start.

// withChildren returns repeated effects, each followed by the effects of the children that it started. A deleted child is skipped.
func (c *Client) withChildren(ctx context.Context, w *dsl.Workflow, repeats []Repeated) ([]Repeated, error) {
	var all []Repeated
	for _, r := range repeats {
		all = append(all, r)
		if len(r.children) == 0 {
			continue
		}
		below, err := c.effectsOf(ctx, r.children, r.SameKey && !leavesChild(w, r.Pointer), maxKeys-len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// leavesChild reports whether the child of a task continues when the task no longer waits for it. A child that is started beside it gets
// keys of its own.
func leavesChild(w *dsl.Workflow, at dsl.Pointer) (leaves bool) {
	if w == nil {
		return false
	}
	dsl.Walk(w, func(t dsl.Task) bool {
		leaves = leaves || t.Base().Pointer == at && t.Traits().LeavesChild
		return true
	})
	return leaves
}

// effectsOf returns the effects of the children that the attempts at one task have started, and of their children, up to a number of them.
func (c *Client) effectsOf(ctx context.Context, children []store.Instance, sameKey bool, most int) ([]Repeated, error) {
	found := newEffects()
	for _, child := range children[max(0, len(children)-maxChildren):] {
		steps, err := c.steps(ctx, child)
		if store.RefusedAs(err) == store.NoSuch {
			continue
		}
		if err != nil {
			return nil, err
		}
		clear(found.path) // the effects of each run are numbered from 1
		for _, s := range steps {
			for _, r := range s.Events {
				found.add(r)
			}
		}
	}
	found.all = slices.DeleteFunc(found.all, func(r Repeated) bool { return r.Kind == "" })
	if len(found.all) == 0 || most <= 0 {
		return nil, nil
	}
	last := children[len(children)-1]
	for n := range found.all {
		found.all[n].In, found.all[n].SameKey = last, sameKey
	}
	w, err := c.workflowOf(ctx, last)
	if err != nil && store.RefusedAs(err) != store.NoSuch {
		return nil, err
	}
	all, err := c.withChildren(ctx, w, found.all[:min(len(found.all), most)])
	return all[:min(len(all), most)], err
}

// maxChildren is how many children of one task are read, the last ones.
const maxChildren = 20

// workflowOf returns the workflow of a run; nil if its definition cannot be compiled here.
func (c *Client) workflowOf(ctx context.Context, i store.Instance) (*dsl.Workflow, error) {
	_, info, err := c.stored(ctx, i)
	if err != nil {
		return nil, err
	}
	p, err := c.program(ctx, info)
	if err != nil {
		return nil, nil
	}
	return p.Workflow, nil
}
