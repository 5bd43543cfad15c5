package jsonvalue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// DecodeStrict is Decode for texts of people. It also refuses texts that Decode would change or shorten: bytes that are not UTF-8, half of a
// surrogate pair, and a repeated name in one object. Its errors contain the place.
func DecodeStrict(data []byte) (any, error) {
	if err := CheckUTF8(data); err != nil {
		return nil, err
	}
	r := reader{text: data}
	v, ok := r.document()
	if !ok {
		m := mistake(data)
		return nil, fmt.Errorf("%s: %w", position(data, m.offset), m)
	}
	c := strictCheck{text: data}
	if err := c.check(); err != nil {
		return nil, err
	}
	return v, nil
}

// CheckUTF8 returns an error with the place of the first byte that is not UTF-8, or nil.
func CheckUTF8(text []byte) error {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 {
			return fmt.Errorf("%s: the byte 0x%02x is not UTF-8", position(text, i), text[i])
		}
		i += size
	}
	return nil
}

// position describes an offset by its line and its column, which counts characters.
func position(text []byte, offset int) string {
	before := text[:min(max(offset, 0), len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[start:])+1)
}

// strictCheck finds parts of valid JSON in UTF-8 that Decode would change or leave out.
type strictCheck struct {
	text []byte
	open []map[string]bool // the names of each object that is open, the innermost last; nil for an array
}

func (s *strictCheck) check() error {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '{':
			s.open = append(s.open, map[string]bool{})
		case '[':
			s.open = append(s.open, nil)
		case '}', ']':
			s.open = s.open[:len(s.open)-1]
		case '"':
			end := closing(s.text, i) + 1
			if half := halfSurrogate(s.text[i:end]); half >= 0 {
				return fmt.Errorf("%s: %s is half of a character; the other half is missing", position(s.text, i+half), s.text[i+half:i+half+escapeSize])
			}
			if err := s.name(i, end); err != nil {
				return err
			}
			i = end - 1
		}
	}
	return nil
}

// name checks a text that is the name of a member: only names are followed by a colon.
func (s *strictCheck) name(start, end int) error {
	if !bytes.HasPrefix(bytes.TrimLeft(s.text[end:], " \t\r\n"), []byte(":")) {
		return nil
	}
	var name string
	if err := json.Unmarshal(s.text[start:end], &name); err != nil {
		return err
	}
	names := s.open[len(s.open)-1]
	if names[name] {
		return fmt.Errorf("%s: the name %s stands twice in one object", position(s.text, start), s.text[start:end])
	}
	names[name] = true
	return nil
}

// escapeSize is the length of \u and its four digits.
const escapeSize = 6

// halfSurrogate returns the offset of the first escape that is half of a surrogate pair without the other half, or -1.
func halfSurrogate(quoted []byte) int {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		high, isHigh := surrogate(quoted[i:])
		low, _ := surrogate(quoted[min(i+escapeSize, len(quoted)):])
		switch {
		case !isHigh:
			i++
		case high < lowSurrogates && low >= lowSurrogates:
			i += 2*escapeSize - 1
		default:
			return i
		}
	}
	return -1
}

// Surrogates are the halves of characters in UTF-16.
const (
	firstSurrogate = 0xd800
	lowSurrogates  = 0xdc00
	lastSurrogate  = 0xdfff
)

// surrogate returns the half of a character whose escape text begins with.
func surrogate(text []byte) (half uint64, ok bool) {
	if !bytes.HasPrefix(text, []byte(`\u`)) || len(text) < escapeSize {
		return 0, false
	}
	half, err := strconv.ParseUint(string(text[2:escapeSize]), 16, 16)
	if err != nil || half < firstSurrogate || half > lastSurrogate {
		return 0, false
	}
	return half, true
}
