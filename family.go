package swrun

import (
	"context"
	"slices"
	"sync"

	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// family is some runs, the runs that they started, and so on. WorkOn and Settle work on a family.
type family struct {
	store store.Store
	roots []store.Instance

	mu      sync.Mutex
	members map[store.Instance]bool // known answers
}

func newFamily(s store.Store, roots []*Run) *family {
	f := &family{store: s, members: map[store.Instance]bool{}}
	for _, root := range roots {
		if root == nil {
			continue
		}
		f.roots = append(f.roots, root.Instance)
		f.members[root.Instance] = true
	}
	return f
}

// has reports whether a run belongs to the family. It returns false if the store does not answer.
func (f *family) has(ctx context.Context, i store.Instance) bool {
	f.mu.Lock()
	member, known := f.members[i]
	f.mu.Unlock()
	if known || !slices.ContainsFunc(f.roots, func(root store.Instance) bool { return execution.MayStemFrom(i, root) }) {
		return member
	}
	l, err := f.store.Load(ctx, i)
	if err != nil {
		return false
	}
	invocation, err := execution.ParseInvocation(l.Invocation)
	if err != nil {
		return false
	}
	if starter, ok := invocation.Starter(); ok {
		member = f.has(ctx, starter)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[i] = member
	return member
}
