package graph

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// flow is a workflow as boxes and arrows.
type flow struct {
	nodes []flowNode
	edges []flowEdge
	end   int
}

type flowNode struct {
	label   string
	shape   flowShape
	pointer dsl.Pointer // of a task
}

type flowEdge struct {
	from, to int
	label    string
}

type flowShape uint8

const (
	shapeTask flowShape = iota
	shapeEnd
	shapeChoice
	shapeJoin
)

func flowOf(w *dsl.Workflow) *flow {
	f := &flow{}
	start := f.node("start", shapeEnd)
	f.end = f.node("end", shapeEnd)
	f.edge(start, f.list(w.Do, f.end), "")
	return f
}

func (f *flow) node(label string, shape flowShape) int {
	f.nodes = append(f.nodes, flowNode{label: label, shape: shape})
	return len(f.nodes) - 1
}

func (f *flow) edge(from, to int, label string) {
	f.edges = append(f.edges, flowEdge{from, to, label})
}

// list draws tasks that run one after the other and then continue with after. It returns their first node.
func (f *flow) list(tasks dsl.TaskList, after int) int {
	if len(tasks) == 0 {
		return after
	}
	places := make([]int, len(tasks))
	for i, t := range tasks {
		shape := shapeTask
		if t.Kind() == dsl.KindSwitch {
			shape = shapeChoice
		}
		places[i] = f.node(terminal.Printable(t.Base().Name)+" ("+t.Kind().Words()+")", shape)
		f.nodes[places[i]].pointer = t.Base().Pointer
	}
	for i, t := range tasks {
		goTo := func(then string) int {
			switch next, ends := tasks.Following(i, then); {
			case ends:
				return f.end
			case next == len(tasks):
				return after
			default:
				return places[next]
			}
		}
		f.task(t, places[i], goTo)
	}
	return places[0]
}

// task draws the arrows that leave a task, and its content.
func (f *flow) task(t dsl.Task, at int, goTo func(then string) int) {
	next := goTo(t.Base().Then)
	switch t := t.(type) {
	case *dsl.SwitchTask:
		f.choice(t, at, next, goTo)
	case *dsl.DoTask:
		f.edge(at, f.list(t.Do, next), "")
	case *dsl.ForkTask:
		f.fork(t, at, next)
	case *dsl.TryTask:
		f.edge(at, f.list(t.Try, next), "")
		caught := next
		if t.Catch.Then != "" {
			caught = goTo(t.Catch.Then)
		}
		f.edge(at, f.list(t.Catch.Do, caught), "catch "+catchLabel(t))
	case *dsl.RaiseTask: // a raised error leads to its catch
	default:
		f.loops(t, at, next)
	}
}

// loops draws a task whose lists, if it has any, run once for each item.
func (f *flow) loops(t dsl.Task, at, next int) {
	label := ""
	for _, l := range dsl.Lists(t) {
		f.edge(at, f.list(l, at), "each item")
		label = "done"
	}
	f.edge(at, next, label)
}

func (f *flow) choice(t *dsl.SwitchTask, at, next int, goTo func(string) int) {
	hasDefault := false
	for _, c := range t.Cases {
		label := terminal.Printable(c.Name)
		if c.When.Text != "" {
			label += ": " + terminal.Printable(shorten.To(c.When.Text, 60))
		}
		hasDefault = hasDefault || c.When.Text == ""
		f.edge(at, goTo(c.Then), label)
	}
	if !hasDefault {
		f.edge(at, next, "no match")
	}
}

func (f *flow) fork(t *dsl.ForkTask, at, next int) {
	label := "all"
	if t.Compete {
		label = "first"
	}
	join := f.node(label, shapeJoin)
	for _, branch := range t.Branches {
		f.edge(at, f.list(dsl.TaskList{branch}, join), "")
	}
	f.edge(join, next, "")
}
