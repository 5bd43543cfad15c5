package expr

import "strings"

// textGuard returns the guard of a native that reads or writes text, or nil.
func textGuard(name string) guard {
	switch name {
	case "tojson", "tostring", "_tobase64", "_tobase64d", "_tourid", "_tocsv", "_totsv", "_tosh":
		return func(m *meter, v any, _ []any) bool { return m.writing(v, 2) }
	case "_touri":
		return func(m *meter, v any, _ []any) bool { return m.writing(v, 3) }
	case "_tohtml", "format":
		return func(m *meter, v any, _ []any) bool { return m.writing(v, 6) }
	case "length", "utf8bytelength", "ltrim", "rtrim", "trim":
		return func(m *meter, v any, _ []any) bool { return m.reading(v) }
	case "ascii_downcase", "ascii_upcase":
		return func(m *meter, v any, _ []any) bool { return m.toil(shallow(v) / bytesPerWork) }
	case "explode":
		return func(m *meter, v any, _ []any) bool { return m.spend(length(v) * 24) }
	case "implode":
		return func(m *meter, v any, _ []any) bool { return m.spend(length(v) * 4) }
	case "split":
		return func(m *meter, v any, args []any) bool { return m.splitting(v, args[0]) }
	case "join":
		return func(m *meter, v any, args []any) bool { return m.joining(v, args[0]) }
	case "fromjson":
		return func(m *meter, v any, _ []any) bool { return m.spend(length(v) * itemSize) }
	case "tonumber":
		return func(m *meter, v any, _ []any) bool {
			s, _ := v.(string)
			return len(s) <= maxDigits || m.exceed("a number has more than %d digits", maxDigits)
		}
	case "strftime":
		// A directive of a few bytes may ask for a thousand bytes of padding.
		return func(m *meter, _ any, args []any) bool { return m.spend(product(length(args[0]), 512)) }
	}
	return nil
}

// writing charges the text of v, which grows by a factor when it is escaped.
func (m *meter) writing(v any, factor int) bool {
	if s, ok := v.(string); ok {
		return m.spend(product(len(s), factor-1))
	}
	e, ok := m.extent(v)
	return ok && m.spend(product(e.bytes, factor))
}

func (m *meter) splitting(v, separator any) bool {
	s, ok := v.(string)
	by, also := separator.(string)
	if !ok || !also {
		return true
	}
	return m.toil(len(s)/bytesPerWork) && m.spend(32*(strings.Count(s, by)+1))
}

func (m *meter) joining(v, separator any) bool {
	n, size := length(v), 0
	if !m.toil(n) {
		return false
	}
	each(v, func(item any) {
		if s, ok := item.(string); ok {
			size += len(s)
		} else {
			size += 2*itemSize + 2*weight(item)
		}
	})
	return m.spend(size + product(n, length(separator)+1)*2)
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
