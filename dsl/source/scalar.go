package source

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// ScalarType is the type of a scalar by the core schema of YAML 1.2, which differs from YAML 1.1.
type ScalarType int

// The types of scalars.
const (
	TextScalar ScalarType = iota
	NullScalar
	BoolScalar
	IntScalar
	FloatScalar
	NotANumber // .inf and .nan, which JSON does not have, and numbers that IsLong reports
)

var (
	intPattern   = lazyregexp.New(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	floatPattern = lazyregexp.New(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	nanPattern   = lazyregexp.New(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// TypeOf returns the type of a scalar.
func TypeOf(n *yaml.Node) ScalarType {
	const text = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if n.Style&text != 0 { // the only tag that is allowed is !!str
		return TextScalar
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return NullScalar
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return BoolScalar
	}
	if first := n.Value[0]; first != '.' && first != '-' && first != '+' && (first < '0' || first > '9') {
		return TextScalar
	}
	switch {
	case intPattern().MatchString(n.Value):
		if isLong(n.Value) {
			return NotANumber
		}
		return IntScalar
	case floatPattern().MatchString(n.Value):
		return FloatScalar
	case nanPattern().MatchString(n.Value):
		return NotANumber
	}
	return TextScalar
}

// maxConverted is the length of a hexadecimal or octal number. The conversion to decimal digits takes a time that grows with the square of the length.
const maxConverted = 1000

func isLong(text string) bool {
	return len(text) > maxConverted && (strings.HasPrefix(text, "0o") || strings.HasPrefix(text, "0x"))
}

// IsLong reports whether a scalar is a hexadecimal or octal number that is too long to be converted.
func IsLong(n *yaml.Node) bool { return TypeOf(n) == NotANumber && isLong(n.Value) }

// Data returns a node as JSON data. Of two equal keys the last one counts; the parser reports them.
func Data(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[n.Content[i].Value] = Data(n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		array := make([]any, len(n.Content))
		for i, item := range n.Content {
			array[i] = Data(item)
		}
		return array
	case yaml.ScalarNode:
		return scalarData(n)
	}
	return nil
}

func scalarData(n *yaml.Node) any {
	switch TypeOf(n) {
	case NullScalar, NotANumber:
		return nil
	case BoolScalar:
		return n.Value[0] == 't' || n.Value[0] == 'T'
	case IntScalar:
		return integer(n.Value)
	case FloatScalar:
		return float(n.Value)
	}
	return n.Value
}

func integer(text string) any {
	digits, base := strings.TrimPrefix(text, "+"), 10
	if strings.HasPrefix(text, "0o") || strings.HasPrefix(text, "0x") {
		base = map[byte]int{'o': 8, 'x': 16}[text[1]]
		digits = text[2:]
	}
	if i, err := strconv.ParseInt(digits, base, 0); err == nil {
		return int(i)
	}
	if base == 10 {
		return json.Number(jsonNumber(text)) // out of range
	}
	large, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return text
	}
	return json.Number(large.String())
}

// maxCompared is the length of a number that is compared with its float64: the comparison takes a time that grows with the square of the length. A longer
// number is kept as it is written.
const maxCompared = 1000

// float keeps a number as it is written if a float64 would lose some of it.
func float(text string) any {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || f == 0 && strings.ContainsAny(mantissa(text), "123456789") {
		return json.Number(jsonNumber(text)) // out of range
	}
	if len(text) > maxCompared {
		return json.Number(jsonNumber(text))
	}
	written, ok := new(big.Rat).SetString(text)
	shortest, alsoOK := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if ok && alsoOK && written.Cmp(shortest) != 0 {
		return json.Number(jsonNumber(text))
	}
	return f
}

func mantissa(text string) string {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		return text[:i]
	}
	return text
}

// jsonNumber spells a YAML number as JSON does.
func jsonNumber(text string) string {
	text = strings.TrimPrefix(text, "+")
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	text = strings.TrimLeft(text, "0")
	if text == "" || text[0] == '.' || text[0] == 'e' || text[0] == 'E' {
		text = "0" + text
	}
	return sign + strings.NewReplacer(".e", "e", ".E", "E").Replace(strings.TrimSuffix(text, "."))
}

// Describe returns the words for a node in messages.
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	switch TypeOf(n) {
	case NullScalar:
		return "nothing"
	case BoolScalar:
		return "the boolean " + n.Value
	case IntScalar, FloatScalar, NotANumber:
		return "the number " + n.Value
	}
	return "text"
}

// IsText reports whether a node is text.
func IsText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && TypeOf(n) == TextScalar }

// IsNull reports whether a node is null, or empty.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && TypeOf(n) == NullScalar }

// IsBool reports whether a node is true or false.
func IsBool(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && TypeOf(n) == BoolScalar }

// IsNumber reports whether a node is a number that JSON has.
func IsNumber(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (TypeOf(n) == IntScalar || TypeOf(n) == FloatScalar)
}
