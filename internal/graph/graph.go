// Package graph draws workflows: as an outline of nested tasks, and as boxes and arrows in Mermaid, DOT and SVG. It draws the content of a document,
// and marks the progress of a run.
package graph

import (
	"fmt"
	"strings"

	"github.com/emicklei/dot"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
)

// Forms returns the forms in which a workflow can be drawn.
func Forms() []string { return []string{"text", "mermaid", "dot", "svg"} }

// Draw returns a workflow in one of the forms.
func Draw(w *dsl.Workflow, form string, l terminal.Style) string {
	switch form {
	case "mermaid":
		return dot.MermaidFlowchart(flowOf(w).draw(mermaidShape, mermaidLabel), dot.MermaidTopDown)
	case "svg":
		return DrawRun(w, nil)
	case "dot":
		return flowOf(w).draw(dotShape, func(s string) string { return s }).String() + "\n"
	}
	return l.Text(outlineText(w))
}

// draw hands the flow to the library that writes DOT and Mermaid.
func (f *flow) draw(shape func(flowShape) any, label func(string) string) *dot.Graph {
	g := dot.NewGraph(dot.Directed)
	nodes := make([]dot.Node, len(f.nodes))
	for i, n := range f.nodes {
		nodes[i] = g.Node(fmt.Sprintf("%06d", i)).Label(label(n.label))
		if s := shape(n.shape); s != nil {
			nodes[i].Attr("shape", s)
		}
	}
	for _, e := range f.edges {
		if e.label == "" {
			g.Edge(nodes[e.from], nodes[e.to])
		} else {
			g.Edge(nodes[e.from], nodes[e.to], label(e.label))
		}
	}
	return g
}

func dotShape(s flowShape) any {
	switch s {
	case shapeEnd:
		return "ellipse"
	case shapeChoice:
		return "diamond"
	case shapeJoin:
		return "point"
	}
	return "box"
}

// mermaidLabel escapes special characters of Mermaid in Mermaid's own way: the library's HTML entities would be displayed as text.
func mermaidLabel(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "'", "#39;", "`", "#96;").Replace(s)
}

func mermaidShape(s flowShape) any {
	switch s {
	case shapeEnd:
		return dot.MermaidShapeStadium
	case shapeChoice:
		return dot.MermaidShapeRhombus
	case shapeJoin:
		return dot.MermaidShapeCircle
	}
	return nil
}
