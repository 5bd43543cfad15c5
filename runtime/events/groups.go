package events

import (
	"slices"
	"sync"

	"github.com/swrun/swrun/interpreter"
)

// groups are the filters with correlations that were met, without their keys: those of the same type and expressions stand together in the
// index. To ask for one that is not there any more costs little, and one that is not known is found by asking.
type groups struct {
	mu  sync.Mutex
	all map[string][]interpreter.EventFilter // by type
	n   int
}

// maxGroups is how many are kept: all that the workflows of most deployments have.
const maxGroups = 1000

// of returns those of a type.
func (g *groups) of(kind string) []interpreter.EventFilter {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clip(g.all[kind])
}

// learn keeps those that have expressions, and returns which of them are not known to who asks.
func (g *groups) learn(all, known []interpreter.EventFilter) (others []interpreter.EventFilter) {
	for _, f := range all {
		if f.From != "" && !slices.Contains(known, f) {
			others = append(others, f)
		}
	}
	if len(others) == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range others {
		if g.n == maxGroups || slices.Contains(g.all[f.Type], f) {
			continue
		}
		if g.all == nil {
			g.all = map[string][]interpreter.EventFilter{}
		}
		g.all[f.Type], g.n = append(g.all[f.Type], f), g.n+1
	}
	return others
}
