package expr

import (
	"encoding/base32"
	"fmt"
	"strings"
)

// textGuard returns the guard of a native that reads or writes text, or nil.
func textGuard(name string) guard {
	switch name {
	case "tojson", "tostring", "_tobase64", "_tobase64d", "_tourid", "_tocsv", "_totsv", "_tosh":
		return func(m *meter, v any, _ []any) bool { return m.chargeText(v, 2) }
	case "_touri":
		return func(m *meter, v any, _ []any) bool { return m.chargeText(v, 3) }
	case "_tohtml", "format":
		return func(m *meter, v any, _ []any) bool { return m.chargeText(v, 6) }
	case "length", "utf8bytelength", "ltrim", "rtrim", "trim":
		return func(m *meter, v any, _ []any) bool { return m.chargeReading(v) }
	case "ascii_downcase", "ascii_upcase":
		return func(m *meter, v any, _ []any) bool { return m.chargeWork(shallow(v) / bytesPerWork) }
	case "explode":
		return func(m *meter, v any, _ []any) bool { return m.chargeBytes(length(v) * 24) }
	case "implode":
		return func(m *meter, v any, _ []any) bool { return m.chargeBytes(length(v) * 4) }
	case "split":
		return func(m *meter, v any, args []any) bool { return m.chargeSplit(v, args[0]) }
	case "join":
		return func(m *meter, v any, args []any) bool { return m.chargeJoin(v, args[0]) }
	case "fromjson":
		return func(m *meter, v any, _ []any) bool { return m.chargeBytes(length(v) * itemSize) }
	case "tonumber":
		return func(m *meter, v any, _ []any) bool {
			s, _ := v.(string)
			return len(s) <= maxDigits || m.exceed("a number has more than %d digits", maxDigits)
		}
	case "strftime":
		// A directive of a few bytes may ask for a thousand bytes of padding.
		return func(m *meter, _ any, args []any) bool { return m.chargeBytes(product(length(args[0]), 512)) }
	}
	return nil
}

// chargeText charges for writing v as text, which grows by at most factor when it is escaped.
func (m *meter) chargeText(v any, factor int) bool {
	if s, ok := v.(string); ok {
		return m.chargeBytes(product(len(s), factor-1))
	}
	e, ok := m.chargeWalk(v)
	return ok && m.chargeBytes(product(e.bytes, factor))
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
			size += 2*itemSize + 2*approximateSize(item)
		}
	})
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
	if !m.chargeText(input, 2) {
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
