package dsl

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

func (p *parser) wrongType(n *yaml.Node, at Pointer, message string) {
	d := Diagnostic{Code: "SW108", Message: message + ", got " + source.Describe(n), Pointer: at, Range: p.src.RangeOf(n)}
	if _, err := strconv.Atoi(strings.TrimSpace(n.Value)); err == nil && source.IsText(n) {
		d.Help = "write the number without quotes"
	}
	p.add(d)
}
