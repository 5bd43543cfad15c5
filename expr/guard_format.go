package expr

import (
	"strings"
	"unicode/utf8"
)

// The memory that natives for text need beside their result is charged before they allocate it. Each charge is at least half of all memory that the
// native allocates: TestNativesReserveMemory measures it.

// cellSize is the size of writing a single number: the writer and its buffer.
const cellSize = 112

// decoderSize is the size of reading any JSON: the decoder and its buffer.
const decoderSize = 1152

// escapes are the characters that formats make longer, and by how many bytes.
var escapes = map[string]map[string]int{
	"html": {"<": 3, ">": 3, "&": 4, "'": 5, `"`: 5},
	"csv":  {`"`: 1, "\x00": 1},
	"tsv":  {"\t": 1, "\r": 1, "\n": 1, `\`: 1, "\x00": 1},
	"sh":   {"'": 3, "\x00": 1},
	"urid": {"+": 2},
}

// escaped returns the size in bytes of a text in a format.
func escaped(format, s string) int {
	size := len(s) + 2
	for character, more := range escapes[format] {
		size += more * strings.Count(s, character)
	}
	return size
}

// chargeFormat charges for writing v in a format of jq. The formats of rows write each cell; the others write v as JSON first unless it is a text.
func (m *meter) chargeFormat(format string, v any) bool {
	switch format {
	case "json":
		return m.chargeJSON(v)
	case "csv", "tsv", "sh":
		return m.chargeRow(format, v)
	}
	if s, ok := v.(string); ok {
		return m.chargeReading(s) && m.chargeBytes(formatted(format, len(s), escaped(format, s)))
	}
	size, ok := m.jsonSize(v)
	return ok && m.chargeBytes(3*size) && m.chargeBytes(formatted(format, size, 6*size))
}

// formatted returns the charge for a text of size bytes, which has escaped bytes in the format.
func formatted(format string, size, escaped int) int {
	switch format {
	case "html":
		return escaped
	case "uri", "base32":
		return 3 * size
	case "urid":
		return min(escaped, 3*size) + size
	case "base64", "base64d", "base32d":
		return 2 * size
	}
	return size // text
}

// chargeRow charges for the cells of a row: each is escaped, quoted and joined with the others.
func (m *meter) chargeRow(format string, v any) bool {
	row, ok := v.([]any)
	if !ok {
		row = []any{v}
	}
	if !m.chargeWork(len(row)) {
		return false
	}
	for _, cell := range row {
		size := cellSize + 3*approximateSize(cell)
		if s, ok := cell.(string); ok {
			size = itemSize + 2*escaped(format, s)
		}
		if !m.chargeReading(cell) || !m.chargeBytes(size) {
			return false
		}
	}
	return true
}

// chargeJSON charges for writing v as JSON. The place for the text grows as it is written.
func (m *meter) chargeJSON(v any) bool {
	size, ok := m.jsonSize(v)
	if s, text := v.(string); text && size == len(s)+len(`""`) {
		return m.chargeBytes(5 * size / 4) // it is written in one piece
	}
	return ok && m.chargeBytes(3*size)
}

// jsonSize charges a visit of each part of v, and returns how many bytes v takes as JSON, with the lists of members that are sorted for it.
func (m *meter) jsonSize(v any) (size int, ok bool) {
	if _, ok := m.chargeWalk(v); !ok {
		return 0, false
	}
	return EncodedSize(v, 1<<50) + escapedInJSON(v), true
}

// escapedInJSON returns the size in bytes of v as JSON beyond EncodedSize: for escaped characters, and for sorted members.
func escapedInJSON(v any) int {
	more := 0
	switch v := v.(type) {
	case string:
		invalid := 0
		if !utf8.ValidString(v) {
			invalid = len(`\ufffd`) - 1
		}
		for i := range len(v) {
			switch c := v[i]; {
			case c == '"' || c == '\\':
				more++
			case c < ' ' || c == 0x7f:
				more += len(`\u0000`) - 1
			case c >= utf8.RuneSelf:
				more += invalid
			}
		}
	case []any:
		for _, item := range v {
			more += escapedInJSON(item)
		}
	case map[string]any:
		more = itemSize * len(v)
		for name, member := range v {
			more += escapedInJSON(name) + escapedInJSON(member)
		}
	}
	return more
}

// chargeCase charges for the text in other letters. Each byte that is no UTF-8 becomes a character of three.
func chargeCase(m *meter, v any, _ []any) bool {
	s, _ := v.(string)
	size := len(s)
	if !utf8.ValidString(s) {
		size *= 8
	}
	return m.chargeReading(s) && m.chargeBytes(size)
}

// chargeParse charges for the values in a text of JSON. It derives their number from commas, brackets and braces.
func chargeParse(m *meter, v any, _ []any) bool {
	s, _ := v.(string)
	items, arrays, objects := strings.Count(s, ","), strings.Count(s, "["), strings.Count(s, "{")
	return m.chargeReading(s) && m.chargeBytes(decoderSize+2*len(s)+64*items+32*arrays+objectSize*objects)
}
