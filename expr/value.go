package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxDataDepth is how deep data may be nested that is decoded, normalized or encoded.
const maxDataDepth = 10_000

var errTooDeep = fmt.Errorf("the value is nested deeper than %d levels", maxDataDepth)

// Decode reads one JSON value into the types that expressions work on: nil, bool, int, float64, json.Number for
// numbers that neither holds exactly, string, []any, map[string]any. Anything after the value is an error.
func Decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("invalid JSON: the text ends too early")
		}
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("invalid JSON: more text follows the value, at byte %d", decoder.InputOffset())
	}
	return shareless(v), nil
}

// shareless replaces the numbers of v in place: v has just been decoded, so that nobody else holds it.
func shareless(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i, item := range v {
			v[i] = shareless(item)
		}
	case map[string]any:
		for name, member := range v {
			switch member.(type) {
			case json.Number, []any, map[string]any:
				v[name] = shareless(member)
			}
		}
	}
	return v
}

// number returns n as an int or a float64 if one of them holds it exactly, otherwise n.
func number(n json.Number) any {
	text := n.String()
	if text == "-0" {
		return math.Copysign(0, -1)
	}
	if i, err := strconv.Atoi(text); err == nil {
		return i
	}
	if !strings.ContainsAny(text, ".eE") {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !sameDecimal(text, strconv.FormatFloat(f, 'e', -1, 64)) {
		return n
	}
	return f
}

// sameDecimal reports whether two JSON numbers are the same number.
func sameDecimal(a, b string) bool {
	digitsA, exponentA, okA := decimal(a)
	digitsB, exponentB, okB := decimal(b)
	return okA && okB && digitsA == digitsB && (exponentA == exponentB || strings.Trim(digitsA, "-") == "")
}

// decimal splits a JSON number into its significant digits, with the sign, and the power of ten of the last one.
func decimal(text string) (digits string, exponent int, ok bool) {
	mantissa, power, hasPower := strings.Cut(strings.ToLower(text), "e")
	if hasPower {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return "", 0, false
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if negative {
		trimmed = "-" + trimmed
	}
	return trimmed, exponent, true
}

// Normalize turns v, made of any Go types that encoding/json would write, into the types of Decode.
func Normalize(v any) (any, error) { return normalize(v, 0) }

func normalize(v any, depth int) (any, error) {
	if depth > maxDataDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool, int, string:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("JSON has no number %v", v)
		}
		return v, nil
	case int64:
		return int(v), nil
	case int32:
		return int(v), nil
	case uint8:
		return int(v), nil
	case uint16:
		return int(v), nil
	case uint32:
		return int(v), nil
	case *big.Int:
		return bigNumber(v), nil
	case []any:
		return normalizeArray(v, depth)
	case map[string]any:
		return normalizeObject(v, depth)
	}
	data, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot write %T as JSON: %w", v, err)
	}
	return Decode(data)
}

func marshal(v any) ([]byte, error) {
	if n, ok := v.(json.Number); ok && json.Valid([]byte(n)) {
		return []byte(n), nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

// normalizeArray returns v itself if nothing in it changes; it never writes to v.
func normalizeArray(v []any, depth int) (any, error) {
	if v == nil {
		return nil, nil
	}
	var changed []any
	for i, item := range v {
		normal, err := normalize(item, depth+1)
		if err != nil {
			return nil, err
		}
		if changed == nil && !same(item, normal) {
			changed = append(make([]any, 0, len(v)), v...)
		}
		if changed != nil {
			changed[i] = normal
		}
	}
	if changed != nil {
		return changed, nil
	}
	return v, nil
}

// normalizeObject returns v itself if nothing in it changes; it never writes to v.
func normalizeObject(v map[string]any, depth int) (any, error) {
	if v == nil {
		return nil, nil
	}
	var changed map[string]any
	for name, member := range v {
		normal, err := normalize(member, depth+1)
		if err != nil {
			return nil, err
		}
		if same(member, normal) {
			continue
		}
		if changed == nil {
			changed = make(map[string]any, len(v))
			for name, member := range v {
				changed[name] = member
			}
		}
		changed[name] = normal
	}
	if changed != nil {
		return changed, nil
	}
	return v, nil
}

// same reports whether normal is what it was made from, without comparing contents.
func same(before, normal any) bool {
	switch before := before.(type) {
	case nil, bool, int, float64, string:
		return true
	case json.Number:
		after, ok := normal.(json.Number)
		return ok && before == after
	case []any:
		after, ok := normal.([]any)
		return ok && len(before) == len(after) && (len(before) == 0 || &before[0] == &after[0])
	case map[string]any:
		after, ok := normal.(map[string]any)
		return ok && pointer(before) == pointer(after)
	}
	return false
}

// bigNumber returns what Decode would make of v.
func bigNumber(v *big.Int) any {
	if v.IsInt64() && v.Int64() >= math.MinInt && v.Int64() <= math.MaxInt {
		return int(v.Int64())
	}
	return json.Number(v.String())
}
