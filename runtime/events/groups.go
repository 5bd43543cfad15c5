package events

import (
	"sync"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// groups are the known filters with correlations, without their keys. Filters of the same type and expressions are adjacent in the index. A
// query for a removed filter costs little, and an unknown filter is found by the query. Each namespace has separate groups, so that
// namespaces do not take room from each other.
type groups struct {
	mu sync.Mutex
	// Used entries are in now. When now is full, it becomes before, and the former content of before is dropped.
	now, before map[string]*groupsOf // by the namespace that they are marked for; empty for all others
}

// groupsOf are the groups of a namespace.
type groupsOf struct {
	known map[interpreter.EventFilter]bool
	types map[string][]interpreter.EventFilter // known, by type
	bytes int                                  // of their types and expressions
}

// maxGroups is the maximum number of groups of a namespace, enough for the workflows of most deployments. The total length of their types
// and expressions is limited by maxGroupBytes. Groups longer than maxGroupSize are not kept.
const (
	maxGroups      = 1000
	maxGroupBytes  = 256 << 10
	maxGroupSize   = 4 << 10 // bytes
	maxGroupSpaces = 64      // namespaces in one of the two maps
)

// of returns the groups to query for an event.
func (g *groups) of(types []store.ListenType) (all []interpreter.EventFilter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	met := map[interpreter.EventFilter]bool{}
	for _, t := range types {
		for _, namespace := range []string{"", t.Namespace} {
			for _, f := range g.space(namespace).types[t.Type] {
				if t.Has(f) && !met[f] {
					met[f], all = true, append(all, f)
				}
			}
		}
	}
	return all
}

// space returns the groups of a namespace. The caller holds the lock.
func (g *groups) space(namespace string) *groupsOf {
	if of := g.now[namespace]; of != nil {
		return of
	}
	of := g.before[namespace]
	if of == nil {
		of = &groupsOf{}
	}
	if g.now == nil || len(g.now) >= maxGroupSpaces {
		g.now, g.before = map[string]*groupsOf{}, g.now
	}
	g.now[namespace] = of
	return of
}

// learn keeps the filters with expressions, and returns the filters that the caller does not know. If a namespace exceeds its limit, its
// former groups are dropped: they may belong to runs that ended long ago.
func (g *groups) learn(all, known []interpreter.EventFilter) (others []interpreter.EventFilter) {
	met := make(map[interpreter.EventFilter]bool, len(known))
	for _, f := range known {
		met[f] = true
	}
	for _, f := range all {
		if f.From != "" && !met[f] {
			others = append(others, f)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range others {
		_, namespace, _ := store.BareFrom(f.From)
		if groupSize(f) <= maxGroupSize {
			g.space(namespace).add(f)
		}
	}
	return others
}

func (of *groupsOf) add(f interpreter.EventFilter) {
	if of.known[f] {
		return
	}
	size := groupSize(f)
	if of.known == nil || len(of.known) >= maxGroups || of.bytes+size > maxGroupBytes {
		of.known, of.types, of.bytes = map[interpreter.EventFilter]bool{}, map[string][]interpreter.EventFilter{}, 0
	}
	of.known[f], of.types[f.Type] = true, append(of.types[f.Type], f)
	of.bytes += size
}

func groupSize(f interpreter.EventFilter) int { return len(f.Type) + len(f.From) }
