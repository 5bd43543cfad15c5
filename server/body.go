package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/internal/shorten"
)

// readJSON reads a body. It refuses what encoding/json would change or leave out, and takes the names of members as they are written.
// It is called for each body twice: for what is checked against the schema, and for the Go type. Numbers in that keep their digits.
func readJSON(data []byte, v any) (err error) {
	if decoded, ok := v.(*any); ok {
		*decoded, err = jsonvalue.DecodeStrict(data)
		return err
	}
	if err := knownNames(data, reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return misfit(data, reflect.TypeOf(v).Elem(), err)
	}
	return nil
}

// misfit says which member of an object does not fit a struct, which the error of reading it does not always; that is returned if
// none is found.
func misfit(data []byte, t reflect.Type, err error) error {
	var object map[string]json.RawMessage
	if t.Kind() != reflect.Struct || json.Unmarshal(data, &object) != nil {
		return err
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		member, given := object[name]
		if !given || f.Anonymous {
			continue
		}
		wrong := json.Unmarshal(member, reflect.New(f.Type).Interface())
		if errors.As(wrong, new(*json.UnmarshalTypeError)) { // it is in words of Go; what the schema has let through is a number like 1e0
			return fmt.Errorf("%s: %s must be written as a whole number", name, shorten.To(string(member), maxShown))
		}
		if wrong != nil {
			return fmt.Errorf("%s: %w", name, wrong)
		}
	}
	return err
}

// maxShown is how many bytes of a wrong value stand in a problem.
const maxShown = 60

// knownNames refuses members of an object that a struct has in another case.
func knownNames(data []byte, t reflect.Type) error {
	var object map[string]json.RawMessage
	if t.Kind() != reflect.Struct || json.Unmarshal(data, &object) != nil {
		return nil
	}
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	for name := range object {
		if !known[name] {
			return fmt.Errorf("there is no member %q", name)
		}
	}
	return nil
}
