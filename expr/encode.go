package expr

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/swrun/swrun/errors"
)

// Encode writes a value as JSON on one line, keys sorted, without escaping HTML. NaN is null and infinities are the
// largest numbers, as in jq.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

// Append appends the output of Encode to b.
func Append(b []byte, v any) ([]byte, error) { return appendValue(b, v, 0, math.MaxInt) }

// ErrTooLong is the error of AppendAtMost for a value that is too long.
var ErrTooLong = errors.New("the value is longer than that as JSON")

// AppendAtMost is Append for values of at most most bytes. For a longer one it returns ErrTooLong after little more work than
// it takes to write that many bytes.
func AppendAtMost(b []byte, v any, most int) ([]byte, error) {
	end := len(b) + most
	b, err := appendValue(b, v, 0, end)
	if err == nil && len(b) > end {
		return nil, ErrTooLong
	}
	return b, err
}

// AppendText appends a text as a JSON string.
func AppendText(b []byte, text string) []byte { return appendString(b, text) }

// appendValue appends v, and stops soon after b is longer than end.
func appendValue(b []byte, v any, depth, end int) ([]byte, error) {
	if depth > maxDataDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case float64:
		return appendFloat(b, v), nil
	case *big.Int:
		return v.Append(b, 10), nil
	case json.Number:
		if !json.Valid([]byte(v)) {
			return nil, fmt.Errorf("cannot encode %q as a number", string(v))
		}
		return append(b, v...), nil
	case string:
		if len(b)+len(v) > end {
			return nil, ErrTooLong
		}
		return appendString(b, v), nil
	case []any:
		return appendArray(b, v, depth, end)
	case map[string]any:
		return appendObject(b, v, depth, end)
	}
	return nil, fmt.Errorf("cannot encode a %T as JSON: normalize it first", v)
}

func appendArray(b []byte, v []any, depth, end int) (_ []byte, err error) {
	b = append(b, '[')
	for i, item := range v {
		if len(b) > end {
			return nil, ErrTooLong
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, item, depth+1, end); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, v map[string]any, depth, end int) (_ []byte, err error) {
	if len(b)+len(v) > end {
		return nil, ErrTooLong
	}
	var few [16]string
	names := few[:0]
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if len(b)+len(name) > end {
			return nil, ErrTooLong
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		if b, err = appendValue(b, v[name], depth+1, end); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) {
		return append(b, "null"...)
	}
	f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
	format := byte('f')
	if size := math.Abs(f); size != 0 && size < 1e-6 || size >= 1e21 {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && b[n-4] == 'e' && b[n-2] == '0' { // e-07 is e-7
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	written := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		b = appendEscape(append(b, s[written:i]...), c)
		i += size
		written = i
	}
	return append(append(b, s[written:]...), '"')
}

// appendEscape appends the escape of a byte that must be escaped in a JSON string.
func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	if c >= utf8.RuneSelf {
		return utf8.AppendRune(b, utf8.RuneError)
	}
	return fmt.Appendf(b, `\u%04x`, c)
}
