package interpreter

import (
	"cmp"
	"encoding/base64"
)

// This file holds the idempotency keys, and the numbers of requests that used them.

// Keys specifies the idempotency keys of a run that continues in the place of another run. Calls that did not succeed in the other run keep their
// keys, so that a service that carried out such a call recognizes it. Paths in Keys are without retries. The zero value means that a run uses its own
// keys.
type Keys struct {
	Run      string            `json:"r,omitempty"` // the run, in the same namespace, whose keys are used; empty for the run's own keys
	Runs     map[string]string `json:"p,omitempty"` // the same for single occurrences that are repeated although they succeeded
	Attempts map[string]int    `json:"a,omitempty"` // the number of earlier requests with the key of an occurrence
}

// IsZero reports whether the run uses its own keys, and no earlier request used them.
func (k Keys) IsZero() bool { return k.Run == "" && len(k.Runs) == 0 && len(k.Attempts) == 0 }

// keysOf returns the run, in the same namespace, whose keys an occurrence uses. The path is without retries.
func (s *State) keysOf(path string) string { return cmp.Or(s.Keys.Runs[path], s.Keys.Run, s.ID) }

// ChildKeys returns the id of the run whose keys are used by a child of an occurrence of a task. All children that one occurrence starts share the
// same keys, also if a try or a run that continues in the place of this one starts the child again.
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

// Retrier is a Body that may run its tasks again. The tasks then keep their idempotency keys, and their requests are counted.
type Retrier interface {
	Composite
	// Retries reports whether it ever runs its tasks again.
	Retries() bool
	// Renew grants all attempts again, as in a run that continues from one of its tasks. It reports whether any attempt was used up.
	Renew(s *Scope) bool
}

// maxCounted is the maximum number of occurrences that are counted for a task that runs its tasks again.
const maxCounted = 100

// retriedIn returns the outermost task around f that may run f again; nil if there is no such task.
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

// countRequest counts a request of f, and returns its number among the requests with the same key. If there are more occurrences than maxCounted, the
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
