package interpreter

import "strings"

// Wait is something that a task in progress waits for.
type Wait string

// The things that tasks wait for. A run can wait for several of them at the same time in the branches of a fork.
const (
	WaitActivity Wait = "activity" // for an outside worker, which performs it
	WaitEvent    Wait = "event"    // that passes a filter
	WaitChild    Wait = "child"    // for the end of a run that the task started
	WaitTimer    Wait = "timer"    // for a moment: the end of a wait, or the next attempt
)

// Waits are the things that a run waits for, each once, in the order of their constants and with a comma between them; empty for none.
type Waits string

// All returns each of them.
func (w Waits) All() (all []Wait) {
	if w == "" {
		return nil
	}
	for one := range strings.SplitSeq(string(w), ",") {
		all = append(all, Wait(one))
	}
	return all
}

// Waits returns the things that the innermost tasks in progress wait for. Work that a worker performs, or could perform now, is not included.
func (s *State) Waits() Waits {
	if s.Status.Final() {
		return ""
	}
	around := map[FrameID]bool{}
	for _, f := range s.frames {
		if list, ok := f.(*listFrame); ok {
			around[list.Parent] = true
		}
	}
	found := map[Wait]bool{}
	for f := range s.tasks() {
		if !around[f.ID] && !f.Queued {
			found[f.waitsFor()] = true
		}
	}
	var all []string
	for _, one := range []Wait{WaitActivity, WaitEvent, WaitChild, WaitTimer} {
		if found[one] {
			all = append(all, string(one))
		}
	}
	return Waits(strings.Join(all, ","))
}

// waitsFor returns the thing that a task without tasks inside waits for; empty if the task waits for nothing outside.
func (f *taskFrame) waitsFor() Wait {
	switch {
	case f.Listens != nil:
		return WaitEvent
	case !f.WakeAt.IsZero():
		return WaitTimer
	case f.Effect == nil || f.node == nil:
		return ""
	case f.Effect.Waits && !f.Effect.Deferred:
		return WaitEvent
	}
	switch f.node.kind.Route {
	case RouteActivity:
		return WaitActivity
	case RouteChild:
		return WaitChild
	}
	return ""
}
