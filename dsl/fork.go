package dsl

import (
	"slices"
	"time"
)

// KindFork is the kind of ForkTask.
const KindFork Kind = "fork"

// ForkTask runs branches at the same time.
type ForkTask struct {
	TaskBase
	Branches TaskList
	Compete  bool
}

// Kind returns KindFork.
func (*ForkTask) Kind() Kind { return KindFork }

// Traits: its tasks are branches.
func (*ForkTask) Traits() Traits { return Traits{Group: "composite", Branches: true} }

func (t *ForkTask) parts(w *walker) { w.list(t, t.Branches) }

// minDuration returns the minimum time of the longest branch, or of the shortest branch if they compete.
func (t *ForkTask) minDuration(c *checker) time.Duration {
	if len(t.Branches) == 0 || slices.ContainsFunc(t.Branches, c.mayEnd) {
		return 0
	}
	all := make([]time.Duration, len(t.Branches))
	for i, b := range t.Branches {
		all[i] = c.boundedMinDuration(b)
	}
	if t.Compete {
		return slices.Min(all)
	}
	return slices.Max(all)
}

func (t *ForkTask) mayComplete(c *checker) bool {
	return t.Compete || !slices.ContainsFunc(t.Branches, func(b Task) bool { return !c.branchMayComplete(b) })
}

// boundedLists: a branch that surely ends bounds the branches that compete with it.
func (t *ForkTask) boundedLists(_ *checker, inner scope) []boundedList {
	inner.bounded = inner.bounded || t.Compete && slices.ContainsFunc(t.Branches, endsInTime)
	return []boundedList{{t.Branches, inner}}
}

// HasNoWinner returns the diagnostic for a fork whose branches compete, but that has no branches (semantics 6.6).
func (t *ForkTask) HasNoWinner() (d Diagnostic, wrong bool) {
	return Diagnostic{
		Code: "SW124", Pointer: t.Pointer.Key("fork").Key("compete"), Message: "branches cannot compete if there are none",
	}, t.Compete && len(t.Branches) == 0
}

func endsInTime(branch Task) bool {
	_, waits := branch.(*WaitTask)
	return waits || branch.Base().Timeout != nil
}

func parseFork(p *parser, o *object, base TaskBase) Task {
	f := p.object(o.value("fork"), o.at.Key("fork"), "`fork`", "branches", "compete")
	f.require("branches")
	return &ForkTask{TaskBase: base, Branches: f.tasks("branches"), Compete: f.boolean("compete")}
}
