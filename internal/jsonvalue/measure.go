package jsonvalue

// Size estimates the memory of Decode's value for data, in bytes. It reads data once. For data that is not JSON the result has no meaning.
func Size(data []byte) int { return measure(data).bytes }

// measured is an estimate of the value that Decode would return for a text.
type measured struct {
	text  []byte
	at    int
	bytes int
	long  map[int]int // offset of each list and object of many values, with the number of its values
	open  []container
}

// container is a list or an object. A member of an object counts as two values, because its name comes first.
type container struct {
	start, values int
	object        bool
}

// longFrom is the number of values from which Decode allocates a list or an object in one step, instead of letting it grow.
const longFrom = 1000

// The memory of values in 64-bit Go, with the overhead of the allocator.
const (
	wordBytes      = 8  // a number in an interface
	textBytes      = 16 // a text in an interface, without its bytes
	listBytes      = 24 // a list in an interface, without its items
	slotBytes      = 16 // an item of a list
	mapBytes       = 48 // a map without its members
	smallMapBytes  = 288
	smallMap       = 8  // members for which a map has room from the beginning
	memberBytes    = 33 // room for one member in a larger map
	largeMap       = 1024
	largeBytes     = 40 // room for one member in a map of that size
	directoryBytes = 64
	freeNumberSize = 2  // digits of numbers that Go does not allocate
	exactDigits    = 15 // digits of a number that is certainly an int or a float64
)

func measure(text []byte) *measured {
	m := &measured{text: text}
	for m.at < len(text) && len(m.open) <= maxDepth {
		switch c := text[m.at]; {
		case c == '{' || c == '[':
			m.value()
			m.open = append(m.open, container{start: m.at, object: c == '{'})
			m.at++
		case c == '}' || c == ']':
			m.close()
			m.at++
		case c == '"':
			m.quoted()
		case c == '-' || '0' <= c && c <= '9':
			m.number()
		case c == 't' || c == 'f' || c == 'n':
			m.value()
			m.skip(func(c byte) bool { return 'a' <= c && c <= 'z' })
		default:
			m.at++
		}
	}
	return m
}

// value counts the beginning of a value, and reports whether it is the name of a member.
func (m *measured) value() (isName bool) {
	if len(m.open) == 0 {
		return false
	}
	inner := &m.open[len(m.open)-1]
	inner.values++
	return inner.object && inner.values%2 == 1
}

func (m *measured) close() {
	if len(m.open) == 0 {
		return
	}
	last := len(m.open) - 1
	c := m.open[last]
	m.open = m.open[:last]
	if c.values >= longFrom {
		if m.long == nil {
			m.long = map[int]int{}
		}
		m.long[c.start] = c.values
	}
	if c.object {
		m.bytes += mapSize(c.values / 2)
	} else {
		m.bytes += listBytes + c.values*slotBytes
	}
}

func mapSize(members int) int {
	switch {
	case members == 0:
		return mapBytes
	case members <= smallMap:
		return mapBytes + smallMapBytes
	}
	place := 2 * smallMap
	for place*7/8 < members {
		place *= 2
	}
	if place >= largeMap {
		return mapBytes + directoryBytes + place*largeBytes
	}
	return mapBytes + directoryBytes + place*memberBytes
}

func (m *measured) quoted() {
	isName := m.value()
	start := m.at + 1
	for m.at++; m.at < len(m.text) && m.text[m.at] != '"'; m.at++ {
		if m.text[m.at] == '\\' {
			m.at++
		}
	}
	m.bytes += m.at - start
	if !isName && m.at > start { // Go does not allocate the empty one
		m.bytes += textBytes
	}
	m.at++
}

func (m *measured) number() {
	m.value()
	start := m.at
	m.skip(func(c byte) bool { return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+' || c|0x20 == 'e' })
	switch digits := m.at - start; {
	case digits > exactDigits:
		m.bytes += textBytes + digits
	case digits > freeNumberSize:
		m.bytes += wordBytes
	}
}

func (m *measured) skip(is func(byte) bool) {
	for m.at < len(m.text) && is(m.text[m.at]) {
		m.at++
	}
}
