package tasks

import (
	"maps"
	"reflect"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

func fork() interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindFork, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		task := t.(*dsl.ForkTask)
		if d, wrong := task.HasNoWinner(); wrong {
			b.Add(d)
		}
		return &forkBody{branches: b.List("fork/branches", task.Branches), compete: task.Compete}
	}}
}

// forkBody runs its branches at the same time. Each sees its own $context; their exports are merged in the
// order of declaration when the fork ends (semantics section 6).
type forkBody struct {
	branches *interpreter.List
	compete  bool
}

type forkProgress struct {
	Done []branchDone `json:"done"` // by branch
	Open int          `json:"open"`
}

type branchDone struct {
	Output  interpreter.Value `json:"output"`
	Context interpreter.Value `json:"context"`
}

func (f *forkBody) Enter(s *interpreter.Scope) interpreter.Next {
	if f.branches.Len() == 0 {
		return interpreter.Done([]any{})
	}
	progress := interpreter.Progress[forkProgress](s)
	progress.Done, progress.Open = make([]branchDone, f.branches.Len()), f.branches.Len()
	s.Changed()
	return interpreter.Fork(f.branches, s.Input())
}

// MovesFrom implements interpreter.Mover: the results of branches are kept by their positions.
func (f *forkBody) MovesFrom(_ *interpreter.Scope, old interpreter.Body) string {
	switch was := old.(*forkBody); {
	case f.compete != was.compete:
		return "its branches compete in one version and not in the other"
	case !slices.Equal(f.branches.Names(), was.branches.Names()):
		return "it has other branches"
	}
	return ""
}

func (f *forkBody) ChildDone(s *interpreter.Scope, c interpreter.Child) interpreter.Next {
	if f.compete {
		s.SetContext(merge(s.Context(), s.Context(), s.BranchContext(c)))
		return interpreter.Done(c.Output)
	}
	progress := interpreter.Progress[forkProgress](s)
	progress.Done[c.Branch] = branchDone{interpreter.Value{V: c.Output}, interpreter.Value{V: s.BranchContext(c)}}
	progress.Open--
	s.Changed()
	if progress.Open > 0 {
		return interpreter.Await()
	}
	snapshot, merged := s.Context(), s.Context()
	outputs := make([]any, len(progress.Done))
	for i, done := range progress.Done {
		outputs[i] = done.Output.V
		merged = merge(merged, snapshot, done.Context.V)
	}
	if err := s.CheckSize(limits.Data, outputs); err != nil {
		return interpreter.Fail(err)
	}
	if err := s.CheckSize(limits.Data, merged); err != nil {
		return interpreter.Fail(err)
	}
	s.SetContext(merged)
	return interpreter.Done(outputs)
}

func (f *forkBody) ChildFailed(_ *interpreter.Scope, err *errors.Error) interpreter.Next {
	return interpreter.Fail(err)
}

// Gathers implements interpreter.Brancher.
func (f *forkBody) Gathers() bool { return !f.compete }

// Reopen implements interpreter.Brancher.
func (f *forkBody) Reopen(s *interpreter.Scope, branch, open int) {
	progress := interpreter.Progress[forkProgress](s)
	progress.Done = slices.Clone(progress.Done)
	progress.Done[branch], progress.Open = branchDone{}, open
	s.Changed()
}

// merge applies the changes of branch since snapshot to context: top-level keys, or the whole value if either is no object (semantics 6.5).
func merge(context, snapshot, branch any) any {
	if reflect.DeepEqual(snapshot, branch) {
		return context
	}
	old, ok := snapshot.(map[string]any)
	changed, alsoOK := branch.(map[string]any)
	target, targetOK := context.(map[string]any)
	if !ok || !alsoOK || !targetOK {
		return branch
	}
	merged := maps.Clone(target)
	for name, value := range changed {
		if before, existed := old[name]; !existed || !reflect.DeepEqual(before, value) {
			merged[name] = value
		}
	}
	for name := range old {
		if _, still := changed[name]; !still {
			delete(merged, name)
		}
	}
	return merged
}
