// Package svg writes drawings as SVG. It styles shapes only by attributes: a page that forbids styles displays them unchanged.
package svg

import (
	"fmt"
	"html"
	"strings"
)

// Drawing is an unfinished drawing; its origin is at the top left.
type Drawing struct {
	width, height int
	title         string
	b             strings.Builder
}

// New returns an empty drawing. The title describes it for people that do not see it.
func New(width, height int, title string) *Drawing {
	return &Drawing{width: width, height: height, title: title}
}

// Color is a colour in the form of SVG.
type Color string

// The colours of drawings. No state is distinguished by its colour alone.
const (
	Ink    Color = "#1f2933"
	Faint  Color = "#7b8794"
	Paper  Color = "#ffffff"
	Line   Color = "#9aa5b1"
	Green  Color = "#c6e9d2"
	Red    Color = "#f6c7c3"
	Blue   Color = "#c9dff8"
	Grey   Color = "#e4e7eb"
	Yellow Color = "#f7e3af"
	Alarm  Color = "#b42318"
)

// Box is a rectangle, with a title for the pointer.
type Box struct {
	X, Y, W, H float64
	Fill       Color
	Border     Color
	Round      float64
	Dashed     bool
	Title      string
}

// Box draws a rectangle.
func (d *Drawing) Box(b Box) {
	dash := ""
	if b.Dashed {
		dash = ` stroke-dasharray="4 3"`
	}
	fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="%s" height="%s" rx="%s" fill="%s" stroke="%s"%s>`, number(b.X), number(b.Y), number(b.W), number(b.H), number(b.Round), b.Fill, b.Border, dash)
	if b.Title != "" {
		d.b.WriteString("<title>" + escape(b.Title) + "</title>")
	}
	d.b.WriteString("</rect>\n")
}

// Text is a line of text; X and Y are its beginning, or its middle.
type Text struct {
	X, Y   float64
	Text   string
	Color  Color
	Size   int
	Middle bool
}

// Text draws a line of text.
func (d *Drawing) Text(t Text) {
	anchor := ""
	if t.Middle {
		anchor = ` text-anchor="middle"`
	}
	fmt.Fprintf(&d.b, `<text x="%s" y="%s" font-size="%d" fill="%s"%s>%s</text>`+"\n", number(t.X), number(t.Y), t.Size, t.Color, anchor, escape(t.Text))
}

// Upright draws a line downward from a point.
func (d *Drawing) Upright(x, y, height float64, style string) {
	fmt.Fprintf(&d.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" %s/>`+"\n", number(x), number(y), number(x), number(y+height), style)
}

// Plain returns the style of a line.
func Plain(c Color) string { return fmt.Sprintf(`stroke="%s" `, c) }

// Dashed returns the style of a line of dashes.
func Dashed(c Color) string {
	return fmt.Sprintf(`stroke="%s" stroke-width="1.5" stroke-dasharray="4 3" `, c)
}

// Arrow draws a curve between two points, which leaves and arrives in the direction of the points between.
func (d *Drawing) Arrow(points [4][2]float64, dashed bool) {
	style := Plain(Line)
	if dashed {
		style = Dashed(Line)
	}
	p := points
	fmt.Fprintf(&d.b, `<path d="M%s %s C%s %s %s %s %s %s" fill="none" marker-end="url(#arrow)" %s/>`+"\n",
		number(p[0][0]), number(p[0][1]), number(p[1][0]), number(p[1][1]), number(p[2][0]), number(p[2][1]), number(p[3][0]), number(p[3][1]), style)
}

// String returns the drawing.
func (d *Drawing) String() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="ui-sans-serif, system-ui, sans-serif">
<title>%s</title>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="%s"/></marker></defs>
<rect width="%d" height="%d" fill="%s"/>
%s</svg>
`, d.width, d.height, d.width, d.height, escape(d.title), Line, d.width, d.height, Paper, d.b.String())
}

func number(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", f), "0"), ".")
}

// escape makes text safe, including characters that XML does not allow.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffe || r == 0xffff {
			return '\ufffd'
		}
		return r
	}, text))
}
