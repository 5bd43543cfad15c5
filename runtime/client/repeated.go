package client

import (
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// This file finds out which calls of a run a fork makes again, and which idempotency keys they have.

// Repeated is an effect of a run that a fork of it has again.
type Repeated struct {
	Kind    dsl.Kind
	Pointer dsl.Pointer
	Path    interpreter.Path // of its last attempt
	Outcome string           // succeeded, failed, or unknown
	// Attempts is how many requests were made of it, as far as that is known.
	Attempts int
	// Called is the method and the address of its request, or its image, without secrets; empty if that is not known.
	Called string
	origin dsl.Pointer // position of its task in the document
	// SameKey reports that it keeps its idempotency key.
	SameKey bool
	// In is the child whose effect it is; zero if it is one of the run itself.
	In store.Instance

	children []store.Instance // that its attempts have started
}

// The outcomes of effects.
const (
	OutcomeSucceeded = "succeeded"
	OutcomeFailed    = "failed"
	OutcomeUnknown   = "unknown"
)

// effects are the effects of a run by their occurrences, without retries, in the order in which they began.
type effects struct {
	all  []Repeated
	at   map[string]int                  // positions in all
	path map[interpreter.EffectID]string // of the effects that began
}

func newEffects() *effects {
	return &effects{at: map[string]int{}, path: map[interpreter.EffectID]string{}}
}

// begun counts an attempt.
func (e *effects) begun(r Repeated, id interpreter.EffectID) {
	path := r.Path.WithoutRetries()
	e.path[id] = path
	n, known := e.at[path]
	if !known {
		n = len(e.all)
		e.at[path], e.all = n, append(e.all, Repeated{Kind: r.Kind, Pointer: r.Pointer, Outcome: OutcomeUnknown, origin: r.origin})
	}
	one := &e.all[n]
	one.Path, one.children = r.Path, append(one.children, r.children...)
	one.Attempts = max(one.Attempts+1, r.Attempts)
	if one.Outcome == OutcomeFailed {
		one.Outcome = OutcomeUnknown
	}
}

// ended records the end of an attempt. A success counts for all following attempts.
func (e *effects) ended(r interpreter.HistoryEvent) {
	path, known := e.path[r.Effect]
	if !known {
		return
	}
	one := &e.all[e.at[path]]
	one.Attempts = max(one.Attempts, r.Attempt)
	if called := r.Error.Reached(); called != (errors.Reached{}) {
		called.Status = 0 // of that attempt alone
		one.Called = called.String()
	}
	switch {
	case r.Error == nil:
		one.Outcome = OutcomeSucceeded
	case one.Outcome == OutcomeUnknown:
		one.Outcome = OutcomeFailed
	}
}

// add adds a record of the history.
func (e *effects) add(r interpreter.HistoryEvent) {
	switch r.Type {
	case interpreter.EffectStarted:
		begun := Repeated{Kind: r.Kind, Pointer: r.Pointer, Path: r.Path, Attempts: r.Attempt, origin: r.Place()}
		if r.Run != "" {
			begun.children = []store.Instance{store.InstanceOf(r.Run)}
		}
		e.begun(begun, r.Effect)
	case interpreter.EffectFinished:
		e.ended(r)
	}
}

// repeated returns the effects that a fork repeats: effects in flight at the moment at which it continues, and effects that began since its
// task began, except effects of branches that are kept.
func repeated(at *interpreter.Moment, steps []interpreter.HistoryStep, task interpreter.Path) []Repeated {
	kept := func(p interpreter.Path) bool {
		return slices.ContainsFunc(at.Kept, func(b interpreter.ForkBranch) bool { return b.HasBeside(p) })
	}
	before, all, open := newEffects(), newEffects(), map[string]bool{}
	for _, o := range interpreter.OpenTasks(at.Program, at.State) {
		if o.Effect != 0 {
			open[o.Path.WithoutRetries()] = true
		}
	}
	begun := false
	for _, e := range steps {
		for _, r := range e.Events {
			begun = begun || r.Type == interpreter.TaskStarted && r.Path == task
			if all.add(r); !begun && sameAttempt(r.Path, task) {
				before.add(r)
			}
		}
	}
	return slices.DeleteFunc(all.all, func(r Repeated) bool {
		path := r.Path.WithoutRetries()
		_, was := before.at[path]
		return r.Kind == "" || !open[path] && (was || kept(r.Path))
	})
}

// sameAttempt reports whether an occurrence of a task is of the same attempt as another one, as far as they have tasks around them in common.
func sameAttempt(a, b interpreter.Path) bool {
	as, bs := strings.Split(string(a), "/"), strings.Split(string(b), "/")
	for n := range min(len(as), len(bs)) {
		switch {
		case as[n] == bs[n]:
		case interpreter.Path(as[n]).WithoutRetries() == interpreter.Path(bs[n]).WithoutRetries():
			return false
		default:
			return true
		}
	}
	return true
}

// maxKeys is how many occurrences a fork knows the keys of.
const maxKeys = 1000

// keptKeys returns the keys of the calls of a fork: the keys of the run, except the keys of calls that are repeated although they
// succeeded. It marks in repeats the calls that keep their key.
func keptKeys(d *Description, fork store.Instance, steps []interpreter.HistoryStep, repeats []Repeated) interpreter.Keys {
	was := d.State.Keys
	keys := interpreter.Keys{Run: was.Run, Runs: map[string]string{}, Attempts: map[string]int{}}
	if keys.Run == "" {
		keys.Run = d.Instance.ID
	}
	for path, run := range was.Runs {
		keys.Runs[path] = run
	}
	all := newEffects()
	for _, e := range steps {
		for _, r := range e.Events {
			all.add(r)
		}
	}
	for path, n := range was.Attempts {
		keys.Attempts[path] = n
	}
	for _, r := range all.all[max(0, len(all.all)-maxKeys):] {
		keys.Attempts[r.Path.WithoutRetries()] = max(r.Attempts, was.Attempts[r.Path.WithoutRetries()])
	}
	for n, r := range repeats {
		path := r.Path.WithoutRetries()
		if repeats[n].SameKey = r.Outcome != OutcomeSucceeded; !repeats[n].SameKey {
			keys.Runs[path] = fork.ID
			delete(keys.Attempts, path)
		}
	}
	if len(keys.Runs) > maxKeys { // then all others have new ones, too
		return interpreter.Keys{}
	}
	return keys
}
