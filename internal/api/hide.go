package api

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Values of any type, and bytes, are data of runs, which some callers do not see. A tag of a field overrides this:
//
//	data:"show"    the field contains no data
//	data:"hide"    the field has a type, but may contain data, and is left out
//	data:"error"   the field is an error: its type and status stay
//	data:"hidden"  the field reports that something may have been left out
const dataTag = "data"

// HideData removes the data of runs from an answer. Answer is a pointer.
func HideData(answer any) { hideData(reflect.ValueOf(answer).Elem()) }

func hideData(v reflect.Value) {
	switch {
	case isUntyped(v.Type()):
		v.SetZero()
	case v.Kind() == reflect.Pointer && !v.IsNil():
		hideData(v.Elem())
	case v.Kind() == reflect.Slice:
		for n := range v.Len() {
			hideData(v.Index(n))
		}
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() != reflect.String:
		hideMembers(v)
	case v.Kind() == reflect.Struct:
		for n := range v.NumField() {
			if field := v.Type().Field(n); field.IsExported() || field.Anonymous {
				hideField(v.Field(n), field.Tag.Get(dataTag))
			}
		}
	}
}

// isUntyped reports whether a type allows values of any type.
func isUntyped(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || isUntyped(t.Elem())
	case reflect.Map, reflect.Pointer:
		return isUntyped(t.Elem())
	}
	return false
}

// hideMembers replaces a map, because others may use the original map.
func hideMembers(v reflect.Value) {
	all := reflect.MakeMap(v.Type())
	for key, value := range v.Seq2() {
		member := reflect.New(v.Type().Elem()).Elem()
		member.Set(value)
		hideData(member)
		all.SetMapIndex(key, member)
	}
	v.Set(all)
}

func hideField(v reflect.Value, tag string) {
	switch tag {
	case "show":
	case "hide":
		v.SetZero()
	case "error":
		if !v.IsNil() {
			v.Set(reflect.ValueOf(hideDetails(v.Interface())))
		}
	case "hidden":
		v.SetBool(true)
	default:
		hideData(v)
	}
}

// hideDetails returns the members of an error that are not data: its kind. Its instance may be an expression of the author.
func hideDetails(of any) map[string]any {
	kept := map[string]any{}
	members, _ := of.(map[string]any)
	for _, name := range []string{"type", "status"} {
		if value, ok := members[name]; ok {
			kept[name] = value
		}
	}
	return kept
}

// HideEmittedData returns an event that a workflow emits, as JSON without the data of its run: the required attributes and the time stay.
func HideEmittedData(event []byte) ([]byte, error) {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	kept := map[string]json.RawMessage{}
	for _, name := range []string{"id", "source", "type", "specversion", "time"} {
		if value, ok := e[name]; ok {
			kept[name] = value
		}
	}
	return json.Marshal(kept)
}

// HideEventData returns a lifecycle event as JSON without the data of its run. Names, times and the kind of an error stay.
func HideEventData(event []byte) ([]byte, error) {
	var e map[string]any
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	all, _ := e["data"].(map[string]any)
	kept := map[string]any{}
	for name, value := range all {
		switch {
		case name == "error":
			kept[name] = hideDetails(value)
		case name == "name", name == "workflow", name == "task", name == "definition", strings.HasSuffix(name, "At"):
			kept[name] = value
		}
	}
	e["data"] = kept
	return json.Marshal(e)
}
