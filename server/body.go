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

// readJSON reads a body. It refuses JSON that encoding/json would change or leave out, and requires the exact names of members. It is called twice
// for each body: for the value that is checked against the schema, and for the Go type. Numbers in the former keep their digits.
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

// misfit returns an error that names the member of an object that does not fit a struct, which err does not always do. It returns err if it finds no
// such member.
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
		if errors.As(wrong, new(*json.UnmarshalTypeError)) { // its text is about Go; the schema has accepted a number such as 1e0
			return fmt.Errorf("%s: %s must be written as a whole number", name, shorten.To(string(member), maxShown))
		}
		if wrong != nil {
			return fmt.Errorf("%s: %w", name, wrong)
		}
	}
	return err
}

// maxShown is the maximum length of a wrong value in a problem, in bytes.
const maxShown = 60

// knownNames refuses members of an object whose names differ from the names of a struct only in case.
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
