package swrun

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// InputError is the error of a value that is not JSON.
type InputError struct {
	Pointer string // JSON Pointer of the part that cannot be written; empty for the whole
	Err     error
}

func (e *InputError) Error() string {
	if e.Pointer == "" {
		return e.Err.Error()
	}
	return "at " + e.Pointer + ": " + e.Err.Error()
}

// Unwrap returns the fault of the part.
func (e *InputError) Unwrap() error { return e.Err }

// dataOf converts a Go value into data of workflows, once: workflows do not see later changes of the value.
func dataOf(v any) (any, error) {
	data, err := expr.Normalize(v)
	if err != nil {
		at, err := misfit(reflect.ValueOf(v), err)
		return nil, &InputError{string(at), err}
	}
	return jsonvalue.Map(data, func(leaf any) any { return leaf }), nil
}

// inputOf converts the input of a run as dataOf does. It also refuses values that encoding/json would change silently: text that is not UTF-8, and
// JSON (json.RawMessage) in which an object has one name twice.
func inputOf(v any) (any, error) {
	data, err := dataOf(v)
	if err != nil {
		return nil, err
	}
	if at, err := altered(reflect.ValueOf(v), ""); err != nil {
		return nil, &InputError{string(at), err}
	}
	return data, nil
}

// altered returns the first part of a value that encoding/json would change. Its values were converted by dataOf, so that they are finite.
func altered(v reflect.Value, at dsl.Pointer) (dsl.Pointer, error) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return "", nil
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return "", nil
	case v.Type() == reflect.TypeFor[json.RawMessage]() && v.Len() > 0:
		_, err := jsonvalue.DecodeStrict(v.Bytes())
		return at, err
	case v.Kind() == reflect.String:
		return at, jsonvalue.CheckUTF8([]byte(v.String()))
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8, writesItself(v.Type()), v.CanAddr() && writesItself(v.Addr().Type()):
		return "", nil
	}
	for name, part := range parts(v) {
		if err := jsonvalue.CheckUTF8([]byte(name)); err != nil {
			return at, fmt.Errorf("the name %q: %w", name, err)
		}
		if in, err := altered(part, at.Key(name)); err != nil {
			return in, err
		}
	}
	return "", nil
}

// writesItself reports whether values of a type determine their own encoding in encoding/json.
func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// misfitDepth is the maximum depth in which misfit looks: a value that contains itself has no innermost part.
const misfitDepth = 64

// misfit returns the innermost part of a value that cannot be converted, and the error.
func misfit(v reflect.Value, why error) (dsl.Pointer, error) {
	at, found := dsl.Pointer(""), why
	for range misfitDepth {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		inner := false
		for name, part := range parts(v) {
			if _, err := expr.Normalize(part.Interface()); err != nil {
				v, at, found, inner = part, at.Key(name), err, true
				break
			}
		}
		if !inner {
			return at, found
		}
	}
	return "", why
}

// parts yields the members of objects and the items of arrays, by their names in JSON.
func parts(v reflect.Value) iter.Seq2[string, reflect.Value] {
	switch v.Kind() {
	case reflect.Map:
		return func(yield func(string, reflect.Value) bool) {
			keys := v.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			for _, key := range keys {
				if !yield(fmt.Sprint(key), v.MapIndex(key)) {
					return
				}
			}
		}
	case reflect.Slice, reflect.Array:
		return func(yield func(string, reflect.Value) bool) {
			for i := range v.Len() {
				if !yield(strconv.Itoa(i), v.Index(i)) {
					return
				}
			}
		}
	case reflect.Struct:
		return members(v)
	}
	return func(func(string, reflect.Value) bool) {}
}

// members yields the encoded fields of a struct, by their names in JSON.
func members(v reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for _, field := range reflect.VisibleFields(v.Type()) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || name == "-" || field.Anonymous && name == "" {
				continue
			}
			part, err := v.FieldByIndexErr(field.Index)
			if err == nil && !yield(cmp.Or(name, field.Name), part) {
				return
			}
		}
	}
}
