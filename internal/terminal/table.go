package terminal

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes rows in columns; it makes foreign text printable.
type Table struct{ *tabwriter.Writer }

// NewTable returns a table with its first row; Flush writes it.
func NewTable(w io.Writer, head ...string) Table {
	t := Table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.Row(head...)
	return t
}

// Row adds a row.
func (t Table) Row(cells ...string) {
	for i, cell := range cells {
		cells[i] = Printable(cell)
	}
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}
