package events

import (
	"sync"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// groups are the filters with correlations that were met, without their keys: those of the same type and expressions stand together in the
// index. To ask for one that is not there any more costs little, and one that is not known is found by asking. Each namespace has its own, so that
// those of one take no room from those of others.
type groups struct {
	mu sync.Mutex
	// What is used is in now. When that is full, it becomes before, and what was in before until then is dropped.
	now, before map[string]*groupsOf // by the namespace that they are marked for; empty for all others
}

// groupsOf are those of a namespace.
type groupsOf struct {
	known map[interpreter.EventFilter]bool
	types map[string][]interpreter.EventFilter // known, by type
	bytes int                                  // of their types and expressions
}

// maxGroups is how many of a namespace are kept: all that the workflows of most deployments have. Their types and expressions
// have maxGroupBytes together. Those that are longer than maxGroupSize are not kept.
const (
	maxGroups      = 1000
	maxGroupBytes  = 256 << 10
	maxGroupSize   = 4 << 10 // bytes
	maxGroupSpaces = 64      // namespaces in one of the two maps
)

// of returns those that an event may ask for.
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

// space returns those of a namespace. The caller holds the lock.
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

// learn keeps those that have expressions, and returns which of them are not known to who asks. What a namespace had is dropped when it has too many: it
// may be of runs that ended long ago.
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
