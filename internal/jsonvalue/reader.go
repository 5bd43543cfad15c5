package jsonvalue

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
	"unsafe"
)

// reader reads JSON with little more memory than the value takes: encoding/json copies the text, and lets lists and objects grow. For invalid JSON it
// only reports that it is invalid.
type reader struct {
	text    []byte
	at      int
	items   []any      // of the incomplete arrays, the innermost last
	members []member   // of the incomplete objects
	block   []byte     // contains short texts one after the other
	names   [64]string // of members: objects of a list have the same names
	long    map[int]int
}

type member struct {
	name  string
	value any
}

// maxDepth is the maximum depth of encoding/json.
const maxDepth = 10_000

// measuredFrom is the size of a text from which it is measured before it is read, in bytes.
const measuredFrom = 16 << 10

// Short texts share blocks, to save allocations. A reference to one of them keeps its whole block alive.
const (
	blockSize = 4 << 10
	shortText = 64
)

func (r *reader) document() (any, bool) {
	if len(r.text) >= measuredFrom {
		r.long = measure(r.text).long
	}
	v, ok := r.value(0)
	r.space()
	return v, ok && r.at == len(r.text)
}

func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next skips space, and c if it follows.
func (r *reader) next(c byte) bool {
	r.space()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *reader) value(depth int) (any, bool) {
	r.space()
	if r.at == len(r.text) || depth > maxDepth {
		return nil, false
	}
	switch c := r.text[r.at]; {
	case c == '{':
		r.at++
		return r.object(depth + 1)
	case c == '[':
		r.at++
		return r.array(depth + 1)
	case c == '"':
		text, ok := r.quoted()
		if !ok {
			return nil, false
		}
		return r.keep(text), true
	case c == '-' || '0' <= c && c <= '9':
		return r.number()
	case c == 't':
		return true, r.word("true")
	case c == 'f':
		return false, r.word("false")
	case c == 'n':
		return nil, r.word("null")
	}
	return nil, false
}

func (r *reader) word(w string) bool {
	if len(r.text)-r.at < len(w) || string(r.text[r.at:r.at+len(w)]) != w {
		return false
	}
	r.at += len(w)
	return true
}

func (r *reader) array(depth int) (any, bool) {
	size := r.long[r.at-1]
	if depth > maxDepth {
		return nil, false
	}
	if r.next(']') {
		return []any{}, true
	}
	if size > 0 {
		array := make([]any, 0, size)
		ok := r.appendItems(&array, depth)
		return array, ok
	}
	first := len(r.items)
	if !r.appendItems(&r.items, depth) {
		return nil, false
	}
	array := make([]any, len(r.items)-first)
	copy(array, r.items[first:])
	clear(r.items[first:])
	r.items = r.items[:first]
	return array, true
}

// appendItems reads the rest of an array.
func (r *reader) appendItems(array *[]any, depth int) bool {
	for {
		v, ok := r.value(depth)
		if !ok {
			return false
		}
		*array = append(*array, v)
		if !r.next(',') {
			return r.next(']')
		}
	}
}

func (r *reader) object(depth int) (any, bool) {
	size := r.long[r.at-1] / 2
	if depth > maxDepth {
		return nil, false
	}
	if r.next('}') {
		return map[string]any{}, true
	}
	if size > 0 {
		object := make(map[string]any, size)
		ok := r.readMembers(depth, func(m member) { object[m.name] = m.value })
		return object, ok
	}
	first := len(r.members)
	if !r.readMembers(depth, func(m member) { r.members = append(r.members, m) }) {
		return nil, false
	}
	object := make(map[string]any, len(r.members)-first)
	for _, m := range r.members[first:] { // the last member of a name wins
		object[m.name] = m.value
	}
	clear(r.members[first:])
	r.members = r.members[:first]
	return object, true
}

// readMembers reads the rest of an object.
func (r *reader) readMembers(depth int, add func(member)) bool {
	for {
		r.space()
		text, ok := r.quoted()
		if !ok {
			return false
		}
		m := member{name: r.name(text)}
		if !r.next(':') {
			return false
		}
		if m.value, ok = r.value(depth); !ok {
			return false
		}
		add(m)
		if !r.next(',') {
			return r.next('}')
		}
	}
}

// quoted reads a text in quotes. The result may share memory with the document.
func (r *reader) quoted() ([]byte, bool) {
	if r.at == len(r.text) || r.text[r.at] != '"' {
		return nil, false
	}
	start, plain := r.at, true
	for i := start + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			r.at = i + 1
			if inner := r.text[start+1 : i]; plain || utf8.Valid(inner) && !escaped(inner) {
				return inner, true
			}
			var text string
			err := json.Unmarshal(r.text[start:r.at], &text)
			return []byte(text), err == nil
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	return nil, false
}

func escaped(text []byte) bool { return bytes.IndexByte(text, '\\') >= 0 }

// name returns the name of a member. Equal names mostly share one string.
func (r *reader) name(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	known := &r.names[(len(text)*31+int(text[0])*7+int(text[len(text)-1]))%len(r.names)]
	if *known != string(text) {
		*known = r.keep(text)
	}
	return *known
}

// keep returns a copy of text that does not share memory with the document.
func (r *reader) keep(text []byte) string {
	if len(text) == 0 || len(text) > shortText || len(r.text) < blockSize {
		return string(text)
	}
	if cap(r.block)-len(r.block) < len(text) {
		r.block = make([]byte, 0, blockSize)
	}
	start := len(r.block)
	r.block = append(r.block, text...)
	return unsafe.String(&r.block[start], len(text)) // this part of the block is never written again
}

func (r *reader) number() (any, bool) {
	start := r.at
	if r.text[r.at] == '-' {
		r.at++
	}
	switch {
	case r.at < len(r.text) && r.text[r.at] == '0':
		r.at++
	case !r.digits():
		return nil, false
	}
	if r.at < len(r.text) && r.text[r.at] == '.' {
		r.at++
		if !r.digits() {
			return nil, false
		}
	}
	if r.at < len(r.text) && r.text[r.at]|0x20 == 'e' {
		r.at++
		if r.at < len(r.text) && (r.text[r.at] == '+' || r.text[r.at] == '-') {
			r.at++
		}
		if !r.digits() {
			return nil, false
		}
	}
	v := Number(json.Number(unsafe.String(&r.text[start], r.at-start)))
	if n, ok := v.(json.Number); ok {
		return json.Number(r.keep([]byte(n))), true
	}
	return v, true
}

// digits reads at least one digit.
func (r *reader) digits() bool {
	start := r.at
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		r.at++
	}
	return r.at > start
}
