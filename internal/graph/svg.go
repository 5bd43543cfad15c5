package graph

import (
	"slices"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/svg"
)

// Mark is the progress of a task in a run.
type Mark string

// The marks. A task without one was not reached.
const (
	MarkDone      Mark = "done"
	MarkActive    Mark = "in progress"
	MarkFaulted   Mark = "faulted"
	MarkCancelled Mark = "cancelled"
	MarkSkipped   Mark = "skipped"
)

// Measures of the drawing.
const (
	nodeHeight  = 34.0
	layerHeight = 84.0
	margin      = 24.0
	gap         = 28.0
	letter      = 7.2 // width of a character
	maxLabel    = 40  // maximum number of displayed characters of a label
)

// DrawRun returns a workflow as SVG, with the marks of a run's tasks.
func DrawRun(w *dsl.Workflow, marks map[dsl.Pointer]Mark) string {
	f := flowOf(w)
	return f.laidOut().svg(w.Document.String(), marks)
}

// layout contains the places of the nodes of a flow.
type layout struct {
	*flow
	layer         []int
	x, width      []float64 // the middle of each node, and its width
	back          []bool    // edges that lead upward
	right, bottom float64
}

// laidOut puts the nodes into layers: each below all nodes that lead to it, except for loops.
func (f *flow) laidOut() *layout {
	l := &layout{flow: f, layer: make([]int, len(f.nodes)), x: make([]float64, len(f.nodes)), width: make([]float64, len(f.nodes)), back: make([]bool, len(f.edges))}
	l.layers()
	l.place()
	return l
}

// layers gives each node its layer, and finds the edges that make loops.
func (l *layout) layers() {
	leaving := make([][]int, len(l.nodes)) // edges, by node
	for n, e := range l.edges {
		leaving[e.from] = append(leaving[e.from], n)
	}
	const unseen, open, done = 0, 1, 2
	state := make([]int, len(l.nodes))
	var order []int
	var visit func(int)
	visit = func(node int) {
		state[node] = open
		for _, n := range leaving[node] {
			switch to := l.edges[n].to; state[to] {
			case unseen:
				visit(to)
			case open:
				l.back[n] = true
			}
		}
		state[node] = done
		order = append(order, node)
	}
	for node := range l.nodes {
		if state[node] == unseen {
			visit(node)
		}
	}
	slices.Reverse(order)
	for _, node := range order {
		for _, n := range leaving[node] {
			if !l.back[n] {
				l.layer[l.edges[n].to] = max(l.layer[l.edges[n].to], l.layer[node]+1)
			}
		}
	}
}

// place gives each node its place in its layer.
func (l *layout) place() {
	layers := make([][]int, slices.Max(l.layer)+1)
	widest := 0.0
	for node, at := range l.layer {
		l.width[node] = float64(utf8.RuneCountInString(shown(l.nodes[node].label)))*letter + 28
		layers[at] = append(layers[at], node)
	}
	total := func(nodes []int) float64 {
		sum := gap * float64(len(nodes)-1)
		for _, node := range nodes {
			sum += l.width[node]
		}
		return sum
	}
	for _, nodes := range layers {
		widest = max(widest, total(nodes))
	}
	for _, nodes := range layers {
		x := margin + (widest-total(nodes))/2
		for _, node := range nodes {
			l.x[node] = x + l.width[node]/2
			x += l.width[node] + gap
		}
	}
	l.right, l.bottom = widest+2*margin, float64(len(layers))*layerHeight+margin
	if slices.Contains(l.back, true) {
		l.right += 3 * margin // for the loops
	}
}

func shown(label string) string { return shorten.To(label, maxLabel) }

func (l *layout) y(node int) float64 { return margin + float64(l.layer[node])*layerHeight }

func (l *layout) svg(title string, marks map[dsl.Pointer]Mark) string {
	d := svg.New(int(l.right)+1, int(l.bottom)+1, title)
	for n, e := range l.edges {
		l.arrow(d, e, l.back[n])
	}
	for node := range l.nodes {
		l.box(d, node, marks[l.nodes[node].pointer])
	}
	return d.String()
}

func (l *layout) arrow(d *svg.Drawing, e flowEdge, back bool) {
	x1, y1, x2, y2 := l.x[e.from], l.y(e.from)+nodeHeight, l.x[e.to], l.y(e.to)
	points := [4][2]float64{{x1, y1}, {x1, y1 + 24}, {x2, y2 - 24}, {x2, y2}}
	middle := [2]float64{(x1 + x2) / 2, (y1 + y2) / 2}
	if back {
		x1, x2 = x1+l.width[e.from]/2, x2+l.width[e.to]/2
		y1, y2 = y1-nodeHeight/2, y2+nodeHeight/2
		side := max(x1, x2) + 2*margin
		points = [4][2]float64{{x1, y1}, {side, y1}, {side, y2}, {x2, y2}}
		middle = [2]float64{side - margin/2, (y1 + y2) / 2}
	}
	d.Arrow(points, back)
	if e.label != "" {
		d.Text(svg.Text{X: middle[0], Y: middle[1] + 4, Text: shown(e.label), Color: svg.Faint, Size: 11, Middle: true})
	}
}

func (l *layout) box(d *svg.Drawing, node int, mark Mark) {
	n := l.nodes[node]
	b := svg.Box{X: l.x[node] - l.width[node]/2, Y: l.y(node), W: l.width[node], H: nodeHeight, Fill: svg.Paper, Border: svg.Line, Round: 5, Title: n.label}
	if n.shape == shapeEnd || n.shape == shapeJoin {
		b.Round = nodeHeight / 2
	}
	if mark != "" {
		b.Title += ": " + string(mark)
		b.Border = svg.Ink
	}
	fills := map[Mark]svg.Color{MarkDone: svg.Green, MarkActive: svg.Blue, MarkFaulted: svg.Red, MarkCancelled: svg.Grey, MarkSkipped: svg.Grey}
	if fill, ok := fills[mark]; ok {
		b.Fill = fill
	}
	b.Dashed = mark == MarkSkipped || mark == MarkCancelled
	d.Box(b)
	d.Text(svg.Text{X: l.x[node], Y: l.y(node) + nodeHeight/2 + 4, Text: signs()[mark] + shown(n.label), Color: svg.Ink, Size: 13, Middle: true})
}

// signs distinguish the marks without colours.
func signs() map[Mark]string {
	return map[Mark]string{MarkDone: "✔ ", MarkActive: "▶ ", MarkFaulted: "✖ ", MarkCancelled: "⊘ ", MarkSkipped: "⤼ "}
}
