package interpreter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/redact"
)

// This file finds the place of tasks in progress in another version of the workflow.

// PointerMap maps pointers of tasks to their pointers in another version of the workflow. Everything that such a task contains moves with it. Tasks
// that are not in the map keep their pointers.
type PointerMap map[dsl.Pointer]dsl.Pointer

// of returns the pointer in the other version of the task at a pointer.
func (m PointerMap) of(p dsl.Pointer) dsl.Pointer {
	for around := p; around != ""; around = around[:strings.LastIndexByte(string(around), '/')] {
		if to, ok := m[around]; ok {
			return to + p[len(around):]
		}
	}
	return p
}

// check reports a pointer at which there is no task.
func (m PointerMap) check(from, to *Program) error {
	stands := func(p *Program, at dsl.Pointer) error {
		if dsl.TaskAt(p.Workflow, at) == nil {
			return fmt.Errorf("%s has no task %s, which the map names", p.Workflow.Document.String(), at)
		}
		return nil
	}
	for _, old := range slices.Sorted(maps.Keys(m)) {
		if err := stands(from, old); err != nil {
			return err
		}
		if err := stands(to, m[old]); err != nil {
			return err
		}
	}
	return nil
}

// Mover is a Body with a condition for continuing the work of the body of the same task in another version of the workflow.
type Mover interface {
	Body
	// MovesFrom returns why the body cannot continue; empty if it can. The scope belongs to the task in progress.
	MovesFrom(s *Scope, old Body) string
}

// CheckMoves returns why a state of one program cannot continue in another one: a task in progress, or the next task of a list, is missing or of
// another kind.
func CheckMoves(from, to *Program, s *State, pointers PointerMap) error {
	_, err := movesTo(to, &machine{p: from, s: s}, pointers)
	return err
}

// move is the place of a frame in another program: its task and, if the frame is a list, its list.
type move struct {
	node   *node
	list   *List
	prefix dsl.Pointer
	at     int // position of a list's task in progress; for a task that is a branch, its own position
}

// mover finds the places of a run's frames in another program.
type mover struct {
	m        *machine
	to       *Program
	pointers PointerMap
	moves    map[FrameID]move
}

// movesTo returns the places of a run's frames in another program, or why a frame has no place there.
func movesTo(to *Program, m *machine, pointers PointerMap) (map[FrameID]move, error) {
	if err := pointers.check(m.p, to); err != nil {
		return nil, err
	}
	m.scope.m = m
	m.resolveNodes()
	v := mover{m, to, pointers, map[FrameID]move{}}
	for _, f := range m.s.frames {
		to, err := v.place(f)
		if err != nil {
			return nil, err
		}
		v.moves[f.common().ID] = to
	}
	return v.moves, v.checkSecrets()
}

// checkSecrets reports a secret in the run's data that the other version does not declare. Its reference could not be resolved to the secret again.
func (v *mover) checkSecrets() error {
	if len(v.m.p.Workflow.Use.Secrets) == 0 {
		return nil
	}
	stored, err := v.m.s.Snapshot()
	if err != nil {
		return err
	}
	declared := v.to.Workflow.Use.Secrets
	name := cmp.Or(redact.Undeclared(stored.Head, declared), redact.Undeclared(stored.Context, declared))
	for _, key := range slices.Sorted(maps.Keys(stored.Frames)) {
		name = cmp.Or(name, redact.Undeclared(stored.Frames[key], declared))
	}
	if name != "" {
		return fmt.Errorf("the data of the run holds the secret %q, which %s does not declare in its use.secrets", name, v.to.Workflow.Document.String())
	}
	return nil
}

// place returns the place of a frame whose parent has a place.
func (v *mover) place(f frame) (move, error) {
	parent, below := v.moves[f.common().Parent]
	switch f := f.(type) {
	case *listFrame:
		at := move{workflowNode, v.to.root, "", 0}
		if below {
			at = v.list(f, parent)
		}
		return v.position(f, at)
	case *taskFrame:
		return v.task(f, parent)
	}
	return move{}, nil
}

// list returns the place of a list of a task.
func (v *mover) list(f *listFrame, parent move) move {
	old, name := v.m.listOf(f), f.ListName
	at := move{node: parent.node, prefix: parent.prefix}
	if old.absolute {
		name, at.prefix = string(v.pointers.of(dsl.Pointer("/" + name)))[1:], ""
	}
	if at.list = parent.node.list(name); at.list != nil && at.list.inlined() {
		at.prefix = parent.prefix + parent.node.pointer
	}
	return at
}

// position finds the task of a list that is in progress, or the next one.
func (v *mover) position(f *listFrame, at move) (move, error) {
	if at.list == nil {
		return at, v.missing(f.Origin)
	}
	old := v.m.listOf(f)
	if f.At >= old.Len() {
		at.at = at.list.Len()
		return at, nil
	}
	origin := old.tasks[f.At].origin
	at.at = slices.IndexFunc(at.list.tasks, func(n *node) bool { return n.origin == v.pointers.of(origin) })
	if at.at < 0 {
		return at, v.missing(origin)
	}
	return at, nil
}

// task returns the place of a task in progress.
func (v *mover) task(f *taskFrame, parent move) (move, error) {
	at, lists := move{prefix: parent.prefix}, parent.node.lists
	if parent.list != nil {
		lists = []*List{parent.list}
	}
	for _, l := range lists {
		if n := slices.IndexFunc(l.tasks, func(n *node) bool { return n.origin == v.pointers.of(f.Origin) }); n >= 0 {
			at.node, at.at = l.tasks[n], n
		}
	}
	switch {
	case at.node == nil:
		return at, v.missing(f.Origin)
	case at.node.kind.Kind != f.node.kind.Kind:
		return at, fmt.Errorf("%s has another kind of task at %s: %s instead of %s", v.name(), at.node.origin, at.node.kind.Kind.Words(), f.node.kind.Kind.Words())
	case f.Isolated && at.at != f.Branch:
		return at, fmt.Errorf("%s has the branch %s at another place of its fork", v.name(), at.node.origin)
	case (f.Phase == PhaseBefore || f.Phase == PhaseAfter) && len(at.node.extensions) != len(f.node.extensions):
		return at, fmt.Errorf("%s has other extensions of %s, which are in progress", v.name(), at.node.origin)
	}
	if body, ok := at.node.body.(Mover); ok && f.Phase == PhaseBody {
		if why := body.MovesFrom(v.m.bodyScope(f), f.node.body); why != "" {
			return at, fmt.Errorf("%s has another %s: %s", v.name(), at.node.origin, why)
		}
	}
	if f.Then == nil || f.Then.Directive != dsl.DirectiveTask {
		return at, nil
	}
	return at, v.jump(f, parent)
}

// jump reports that the target of a pending jump of a task is missing.
func (v *mover) jump(f *taskFrame, parent move) error {
	_, err := v.target(f, parent)
	return err
}

// target returns the position of the task to which a task in progress is about to jump.
func (v *mover) target(f *taskFrame, parent move) (int, error) {
	list, ok := v.m.s.frame(f.Parent).(*listFrame)
	if !ok || parent.list == nil {
		return 0, v.missing(f.Origin)
	}
	origin := v.m.listOf(list).tasks[f.Then.Index].origin
	n := slices.IndexFunc(parent.list.tasks, func(n *node) bool { return n.origin == v.pointers.of(origin) })
	if n < 0 {
		return 0, v.missing(origin)
	}
	return n, nil
}

func (v *mover) name() string { return v.to.Workflow.Document.String() }

// missing returns the error for a task that the other program lacks.
func (v *mover) missing(origin dsl.Pointer) error {
	if to := v.pointers.of(origin); to != origin {
		return fmt.Errorf("%s has no task %s, where the map puts %s", v.name(), to, origin)
	}
	return fmt.Errorf("%s has no task %s", v.name(), origin)
}
