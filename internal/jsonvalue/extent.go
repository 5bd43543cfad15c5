package jsonvalue

// Extent returns how many bytes the JSON value takes that data begins with, whatever follows; 0 if it does not end. It finds
// the end of well-formed text, and checks nothing.
func Extent(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = closing(data, i); i == len(data) {
				return 0
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	if depth > 0 {
		return 0
	}
	return len(data)
}

// closing returns where the text ends that begins at i; len(data) if it does not.
func closing(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data)
}
