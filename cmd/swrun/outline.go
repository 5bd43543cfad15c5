package main

import (
	"strings"

	"github.com/swrun/swrun/dsl"
)

// This file knows which tasks stand inside which.

func triesOf(w *dsl.Workflow) map[dsl.Pointer]*dsl.TryTask {
	tries := map[dsl.Pointer]*dsl.TryTask{}
	dsl.Walk(w, func(t dsl.Task) bool {
		if try, ok := t.(*dsl.TryTask); ok {
			tries[try.Pointer] = try
		}
		return true
	})
	return tries
}

func taskAt(w *dsl.Workflow, p dsl.Pointer) (found dsl.Task) {
	dsl.Walk(w, func(t dsl.Task) bool {
		if t.Base().Pointer == p {
			found = t
		}
		return found == nil
	})
	return found
}

// inside reports whether p stands in the given slot of the task at outer.
func inside(p, outer dsl.Pointer, slot string) bool {
	return strings.HasPrefix(string(p), string(outer)+"/"+slot+"/")
}
