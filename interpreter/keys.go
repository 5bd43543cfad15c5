package interpreter

import (
	"cmp"
	"encoding/base64"
)

// Idempotency keys, and how many requests had them.

// Keys says which keys a run has that goes on in the place of another one: calls that did not succeed there keep theirs, so that a service
// that has carried one out all the same knows it again. Paths in it are without retries. The zero value is that of any other run.
type Keys struct {
	Run      string            `json:"r,omitempty"` // the run, in the same namespace, whose keys the run has; empty for its own
	Runs     map[string]string `json:"p,omitempty"` // the same of single occurrences: of those that are repeated although they have succeeded
	Attempts map[string]int    `json:"a,omitempty"` // how many requests of an occurrence had its key before
}

// IsZero reports whether the run has its own keys, and nobody had them before.
func (k Keys) IsZero() bool { return k.Run == "" && len(k.Runs) == 0 && len(k.Attempts) == 0 }

// keysOf returns the run, in the same namespace, whose keys an occurrence has. The path is without retries.
func (s *State) keysOf(path string) string { return cmp.Or(s.Keys.Runs[path], s.Keys.Run, s.ID) }

// ChildKeys returns the id of the run whose keys the child has that an occurrence of a task starts: all children that one occurrence starts have the same,
// whether a try starts it again, or a run that goes on in the place of this one.
func (s *State) ChildKeys(p Path) string {
	path := p.WithoutRetries()
	return ChildID(s.Namespace, s.keysOf(path), Path(path))
}

// key returns the idempotency key of an occurrence.
func (s *State) key(p Path) string {
	path := p.WithoutRetries()
	sum := digestOf(s.Namespace, s.keysOf(path), "key", path)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Retrier is a Body that may run its tasks again: they keep their idempotency keys then, and their requests are counted.
type Retrier interface {
	Composite
	// Retries reports whether it ever does.
	Retries() bool
	// Renew grants all attempts again, as in a run that goes on from one of its tasks. It reports whether any was used up.
	Renew(s *Scope) bool
}

// maxCounted is how many occurrences are counted for a task that runs its tasks again.
const maxCounted = 100

// retriedIn returns the outermost task around f that may run it again; nil if there is none.
func (m *machine) retriedIn(f *taskFrame) (around *taskFrame) {
	for g := range m.s.ancestors(f) {
		if g, ok := g.(*taskFrame); ok {
			if r, ok := g.node.body.(Retrier); ok && r.Retries() {
				around = g
			}
		}
	}
	return around
}

// countRequest counts a request of f, and returns its number among those that have the same key. Of more occurrences than are counted, the
// number may be too small.
func (m *machine) countRequest(f *taskFrame, lost int) int {
	path := f.Path.WithoutRetries()
	around := m.retriedIn(f)
	if around == nil {
		return m.s.Keys.Attempts[path] + lost + 1
	}
	n := max(around.Requests[path], m.s.Keys.Attempts[path]) + lost + 1
	if _, known := around.Requests[path]; known || len(around.Requests) < maxCounted {
		if around.Requests == nil {
			around.Requests = map[string]int{}
		}
		around.Requests[path] = n
		around.changed()
	}
	return n
}
