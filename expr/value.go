package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// maxDataDepth is the maximum number of levels of data that is normalized or encoded.
const maxDataDepth = 10_000

var errTooDeep = fmt.Errorf("the value is nested deeper than %d levels", maxDataDepth)

// Decode reads one JSON value into the types that expressions work on: nil, bool, int, float64, json.Number for
// numbers that neither holds exactly, string, []any, map[string]any. Anything after the value is an error.
func Decode(data []byte) (any, error) { return jsonvalue.Decode(data) }

// DecodedSize returns the approximate number of bytes of memory of data after decoding.
func DecodedSize(data []byte) int { return jsonvalue.Size(data) }

// Normalize converts v, of any Go types that encoding/json can write, to the types of Decode.
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

// same reports whether normal is still the value that it was made from, without comparing contents.
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

// bigNumber returns the result of Decode for v.
func bigNumber(v *big.Int) any {
	if v.IsInt64() && v.Int64() >= math.MinInt && v.Int64() <= math.MaxInt {
		return int(v.Int64())
	}
	return json.Number(v.String())
}
