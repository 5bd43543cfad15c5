package expr

import (
	"encoding/base32"
	"fmt"
	"strings"
)

// textGuard returns the guard of a native that reads or writes text, or nil.
func textGuard(name string) guard {
	switch name {
	case "tojson":
		return func(m *meter, v any, _ []any) bool { return m.chargeJSON(v) }
	case "tostring", "_tobase64", "_tobase64d", "_tourid", "_touri", "_tohtml", "_tocsv", "_totsv", "_tosh":
		format := strings.TrimPrefix(name, "_to")
		return func(m *meter, v any, _ []any) bool { return m.chargeFormat(format, v) }
	case "format":
		return func(m *meter, v any, args []any) bool {
			format, _ := args[0].(string)
			return m.chargeFormat(format, v)
		}
	case "length", "utf8bytelength", "ltrim", "rtrim", "trim":
		return func(m *meter, v any, _ []any) bool { return m.chargeReading(v) }
	case "ascii_downcase", "ascii_upcase":
		return chargeCase
	case "explode":
		return func(m *meter, v any, _ []any) bool { return m.chargeBytes(length(v) * 24) }
	case "implode":
		return func(m *meter, v any, _ []any) bool { return m.chargeBytes(length(v) * 12) }
	case "split":
		return func(m *meter, v any, args []any) bool { return m.chargeSplit(v, args[0]) }
	case "join":
		return func(m *meter, v any, args []any) bool { return m.chargeJoin(v, args[0]) }
	case "fromjson":
		return chargeParse
	case "tonumber":
		return func(m *meter, v any, _ []any) bool {
			s, _ := v.(string)
			return len(s) <= maxDigits || m.exceed("a number has more than %d digits", maxDigits)
		}
	case "strftime":
		// A directive of a few bytes may require a thousand bytes of padding.
		return func(m *meter, _ any, args []any) bool { return m.chargeBytes(product(length(args[0]), 512)) }
	}
	return nil
}

func (m *meter) chargeSplit(v, separator any) bool {
	s, ok := v.(string)
	by, also := separator.(string)
	if !ok || !also {
		return true
	}
	return m.chargeWork(len(s)/bytesPerWork) && m.chargeBytes(32*(strings.Count(s, by)+1))
}

func (m *meter) chargeJoin(v, separator any) bool {
	n, size := length(v), 0
	if !m.chargeWork(n) {
		return false
	}
	each(v, func(item any) {
		if s, ok := item.(string); ok {
			size += len(s)
		} else {
			size += cellSize + 3*approximateSize(item)
		}
	})
	if _, object := v.(map[string]any); object {
		size += product(n, memberSize)
	}
	return m.chargeBytes(size + product(n, length(separator)+1)*2)
}

// each calls f for the items of an array or the members of an object.
func each(v any, f func(any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			f(item)
		}
	case map[string]any:
		for _, member := range v {
			f(member)
		}
	}
}

// writeBase32 has the formats that gojq lacks: base32 and its inverse. Every other format is for write.
func writeBase32(write native, input any, args []any) any {
	format, _ := args[0].(string)
	if format != "base32" && format != "base32d" {
		return write(input, args)
	}
	m := meterOf(args)
	if !m.chargeFormat(format, input) {
		return haltError()
	}
	text, ok := input.(string)
	if !ok {
		encoded, err := Encode(input)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	if format == "base32" {
		return base32.StdEncoding.EncodeToString([]byte(text))
	}
	decoded, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return fmt.Errorf("string (%q) is not valid base32 data", truncate(text))
	}
	return strings.ToValidUTF8(string(decoded), "\ufffd")
}
