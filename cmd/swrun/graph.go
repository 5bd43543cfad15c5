package main

import (
	"fmt"
	"strings"

	"github.com/emicklei/dot"
	"github.com/spf13/cobra"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) graphCommand() *cobra.Command {
	var output string
	forms := []string{"text", "mermaid", "dot"}
	cmd := &cobra.Command{
		Use: "graph DOC", Short: "Draw a workflow",
		Example: `  swrun graph order.yaml
  swrun graph order.yaml -o dot | dot -Tsvg > order.svg`,
		Args: exactly("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			if err := oneOf("-o", output, forms...); err != nil {
				return err
			}
			d, err := loadDocument(p.streams, args[0])
			if err != nil {
				return err
			}
			if err := refused(d); err != nil {
				return p.told("human", err)
			}
			return write(p.out, graphText(d.Workflow, output, p.outStyle()))
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", strings.Join(forms, ", "))
	completeValues(cmd, "output", forms)
	return cmd
}

func graphText(w *dsl.Workflow, form string, l terminal.Style) string {
	switch form {
	case "mermaid":
		return dot.MermaidFlowchart(flowOf(w).draw(mermaidShape, mermaidLabel), dot.MermaidTopDown)
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

// mermaidLabel escapes what means something in Mermaid, in its own way: the library's HTML entities come out as text.
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

// outlineText draws the tasks as they stand in each other.
func outlineText(w *dsl.Workflow) string {
	var b strings.Builder
	b.WriteString(terminal.Printable(w.Document.String()))
	if w.Timeout != nil {
		b.WriteString(timeoutNote(w, w.Timeout))
	}
	b.WriteString("\n")
	writeOutline(&b, outline(w, w.Do), "")
	return b.String()
}

// outlineItem is a line of the outline with what stands below it.
type outlineItem struct {
	line  string
	below []outlineItem
}

func outline(w *dsl.Workflow, list dsl.TaskList) []outlineItem {
	var items []outlineItem
	for _, t := range list {
		item := outlineItem{line: outlineLine(w, t)}
		if try, ok := t.(*dsl.TryTask); ok {
			item.below = append(outline(w, try.Try), outlineItem{"catch " + catchLabel(try), outline(w, try.Catch.Do)})
		} else {
			for _, inner := range dsl.Lists(t) {
				item.below = append(item.below, outline(w, inner)...)
			}
		}
		items = append(items, item)
	}
	return items
}

func writeOutline(b *strings.Builder, items []outlineItem, indent string) {
	for i, item := range items {
		branch, below := "├─ ", "│  "
		if i == len(items)-1 {
			branch, below = "└─ ", "   "
		}
		b.WriteString(indent + branch + item.line + "\n")
		writeOutline(b, item.below, indent+below)
	}
}

func outlineLine(w *dsl.Workflow, t dsl.Task) string {
	base := t.Base()
	line := terminal.Printable(base.Name) + "   " + t.Kind().Words()
	if wait, ok := t.(*dsl.WaitTask); ok && wait.Wait != nil {
		line += " " + terminal.Duration(wait.Wait)
	}
	if base.Timeout != nil {
		line += timeoutNote(w, base.Timeout)
	}
	if base.If.Text != "" {
		line += "   if " + terminal.Printable(shorten.To(base.If.Text, 60))
	}
	if choice, ok := t.(*dsl.SwitchTask); ok {
		for _, c := range choice.Cases {
			line += fmt.Sprintf("   %s → %s", terminal.Printable(c.Name), terminal.Printable(thenWord(c.Then)))
		}
	}
	if base.Then != "" {
		line += "   then " + terminal.Printable(base.Then)
	}
	return line
}

func thenWord(then string) string {
	if then == "" {
		return dsl.ThenContinue
	}
	return then
}

func timeoutNote(w *dsl.Workflow, t *dsl.Timeout) string {
	after := w.TimeoutAfter(t)
	if after == nil {
		return ""
	}
	return "   ⏱ " + terminal.Duration(after)
}

func catchLabel(try *dsl.TryTask) string {
	f := try.Catch.Errors
	label := "any error"
	switch {
	case f != nil && f.Type != "":
		label = terminal.Printable(errors.Name(f.Type))
	case f != nil && f.Status != nil:
		label = fmt.Sprintf("status %d", *f.Status)
	case f != nil:
		label = "some errors"
	}
	if try.Catch.Retry != nil || try.Catch.RetryUse.Name != "" {
		label += ", retry"
	}
	return label
}
