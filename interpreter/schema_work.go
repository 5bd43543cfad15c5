package interpreter

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// The validator has no limit of its own: data and schemas of a few kilobytes keep it busy for hours. Step is pure and knows no clock, so that work is
// counted instead of time. Work that can be known before the validation is measured first (measure), and the validator reports each applied schema
// (schemaWork).
const (
	maxCheckedDepth  = 256       // levels of data
	maxCheckedValues = 1_000_000 // values in data
	maxCheckedWork   = 500_000   // one or two microseconds each
	maxPatternSize   = 10_000    // instructions of a regular expression
	patternPerWork   = 64        // instructions, times bytes
	textPerWork      = 64        // bytes
	wayPerWork       = 4 << 10   // square bytes: each error writes its way through the schema step by step
)

// workLimitError is the panic that ends the validator when it has done too much work.
type workLimitError struct{}

// schemaWork counts the work of one validation. It is an extension of the validator: Compile is called for each schema inside a schema, and the
// returned value is called whenever that schema was applied.
type schemaWork struct {
	counted bool // nothing is written otherwise, because validations share it
	left    int

	highest cost // the highest cost of a single schema, for each kind of work
}

// cost is the cost of one application of a schema to a value, and per byte of texts.
type cost struct {
	visit    int // the values in the schema itself: properties, alternatives, values of an enum
	text     int // per byte of a text: patterns and formats, in instructions
	names    int // per byte of the names of an object
	distinct bool
}

// Compile finds the cost of a schema.
func (w *schemaWork) Compile(_ jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	p := cost{visit: 1}
	for keyword, v := range m {
		switch keyword {
		case "enum", "const":
			p.visit += measure(v).values / 8
		case "pattern", "format", "contentMediaType", "contentEncoding":
			size, err := textCost(keyword, v)
			if err != nil {
				return nil, err
			}
			p.text += size
		case "patternProperties":
			patterns, _ := v.(map[string]any)
			for pattern := range patterns {
				size, err := patternSize(pattern)
				if err != nil {
					return nil, err
				}
				p.names += size
			}
		case "uniqueItems":
			p.distinct = v == true
		}
		p.visit += width(v) / 8
	}
	w.highest.text, w.highest.names = max(w.highest.text, p.text), max(w.highest.names, p.names)
	w.highest.distinct = w.highest.distinct || p.distinct
	return subschema{w, p}, nil
}

// textCost returns the cost of a keyword per byte of the text that it examines.
func textCost(keyword string, v any) (int, error) {
	text, _ := v.(string)
	switch {
	case keyword == "pattern":
		return patternSize(text)
	case keyword == "format" && text == "regex":
		return 20_000, nil // it is compiled
	}
	return 4, nil
}

func patternSize(pattern string) (int, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, nil // the validator reports it
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, fmt.Errorf("the pattern %.50q is too complex: %w", pattern, err)
	}
	if size := len(program.Inst); size > maxPatternSize {
		return 0, fmt.Errorf("the pattern %.50q takes %d instructions, and at most %d are allowed", pattern, size, maxPatternSize)
	}
	return len(program.Inst), nil
}

func width(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 0
}

// subschema is one schema inside a schema.
type subschema struct {
	work *schemaWork
	cost cost
}

// Validate charges for one completed application of the schema. Its errors contain the place, and the validator keeps all of them.
func (a subschema) Validate(ctx jsonschema.ValidationContext, v any) error {
	if !a.work.counted {
		return nil
	}
	at := ctx.Error("", "")
	way := len(at.KeywordLocation)
	units := a.cost.visit + len(at.InstanceLocation)/textPerWork + way/textPerWork + times(way, way)/wayPerWork
	switch v := v.(type) {
	case string:
		units += times(len(v), a.cost.text) / patternPerWork
	case []any:
		units += len(v) / 4
		if a.cost.distinct {
			units += len(v)
		}
	case map[string]any:
		units += len(v) / 4
		if a.cost.names > 0 {
			units += times(nameBytes(v), a.cost.names) / patternPerWork
		}
	}
	if a.work.left -= units; a.work.left < 0 {
		panic(workLimitError{})
	}
	return nil
}

// times multiplies sizes without overflow.
func times(a, b int) int {
	if a != 0 && b > (1<<50)/a {
		return 1 << 50
	}
	return a * b
}

func nameBytes(m map[string]any) (n int) {
	for name := range m {
		n += len(name)
	}
	return n
}

// excess returns why data is too large for any single schema, or nil.
func (w *schemaWork) excess(data measured) error {
	texts, names := times(data.text, w.highest.text)/patternPerWork, times(data.names, w.highest.names)/patternPerWork
	switch {
	case data.depth > maxCheckedDepth:
		return &schemaLimitError{"schema depth", data.depth, maxCheckedDepth, fmt.Sprintf("it is nested deeper than %d levels", maxCheckedDepth)}
	case data.values > maxCheckedValues:
		// The values were not counted to the end, and the place where the count stopped depends on the order of members.
		text := fmt.Sprintf("it has too many values: at most %d are checked", maxCheckedValues)
		return &schemaLimitError{"schema values", maxCheckedValues + 1, maxCheckedValues, text}
	case data.ways/textPerWork > maxCheckedWork:
		return &schemaLimitError{"schema work", data.ways / textPerWork, maxCheckedWork, "its names are too long for so many values"}
	case texts > maxCheckedWork:
		text := fmt.Sprintf("a text of %d bytes is too long for a pattern or format of the schema", data.text)
		return &schemaLimitError{"schema work", texts, maxCheckedWork, text}
	case names > maxCheckedWork:
		text := fmt.Sprintf("an object with names of %d bytes in all is too large for the patterns of the schema", data.names)
		return &schemaLimitError{"schema work", names, maxCheckedWork, text}
	}
	return nil
}

// schemaLimitError reports data that is too large to be checked.
type schemaLimitError struct {
	name       string
	value, max int
	text       string
}

// Error describes the excess.
func (e *schemaLimitError) Error() string { return e.text }

// measured is the knowledge about data before its validation.
type measured struct {
	values  int
	depth   int
	text    int  // bytes of the longest text
	names   int  // bytes of the names of one object, at most
	ways    int  // bytes of the pointers to all values
	extreme bool // there are numbers that the validator cannot calculate with
}

type measureStep struct {
	container   any
	depth, path int
}

// measure walks v without recursion, and no further than any limit allows.
func measure(v any) (s measured) {
	var todo []measureStep
	add := func(v any, depth, path int) {
		s.values++
		switch v := v.(type) {
		case []any, map[string]any:
			s.depth = max(s.depth, depth)
			s.ways += times(path, width(v))
			todo = append(todo, measureStep{v, depth, path})
		case string:
			s.text = max(s.text, len(v))
		case json.Number:
			s.extreme = s.extreme || isExtreme(v)
		}
	}
	add(v, 1, 0)
	for len(todo) > 0 && s.depth <= maxCheckedDepth && s.values <= maxCheckedValues {
		top := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch container := top.container.(type) {
		case []any:
			s.values += len(container)
			for _, item := range container {
				s.values--
				add(item, top.depth+1, top.path+8)
			}
		case map[string]any:
			names := 0
			for name, member := range container {
				names += len(name)
				s.ways += len(name)
				add(member, top.depth+1, top.path+1+len(name))
			}
			s.names = max(s.names, names)
		}
	}
	return s
}
