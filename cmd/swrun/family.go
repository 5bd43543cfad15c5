package main

import (
	"context"
	"slices"
	"sync"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// family is some runs and all that they have started, and what those have started.
type family struct {
	ctx   context.Context
	store store.Store
	roots []store.Instance

	mu      sync.Mutex
	members map[store.Instance]bool // What was found out
}

func newFamily(ctx context.Context, s store.Store, roots ...store.Instance) *family {
	f := &family{ctx: ctx, store: s, roots: roots, members: map[store.Instance]bool{}}
	for _, root := range roots {
		f.members[root] = true
	}
	return f
}

// has reports whether an instance belongs to the family. As long as the store cannot tell, it does not.
func (f *family) has(i store.Instance) bool {
	f.mu.Lock()
	member, known := f.members[i]
	f.mu.Unlock()
	if known || !slices.ContainsFunc(f.roots, func(root store.Instance) bool { return execution.MayStemFrom(i, root) }) {
		return member
	}
	info, _, err := f.look(i)
	if err != nil {
		return false
	}
	if starter, ok := info.Starter(); ok {
		member = f.has(starter)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[i] = member
	return member
}

func (f *family) look(i store.Instance) (*execution.Invocation, store.Lifecycle, error) {
	l, err := f.store.Load(f.ctx, i)
	if err != nil {
		return nil, l.Lifecycle, err
	}
	info, err := execution.ParseInvocation(l.Invocation)
	return info, l.Lifecycle, err
}

// isTold reports whether an instance of the family has a message to read.
func (f *family) isTold(i store.Instance) bool {
	if !f.has(i) {
		return false
	}
	_, r, err := f.look(i)
	return err == nil && r.Mail > r.Read
}
