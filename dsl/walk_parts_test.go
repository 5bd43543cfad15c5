package dsl

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWalkVisitsEveryPart compares the parts that a walk visits with a search through the whole tree by reflection, for the document that has every
// property: no kind of task leaves out an expression, a name of something under use, a schema or an error.
func TestWalkVisitsEveryPart(t *testing.T) {
	doc := mustEverything(t)
	got := map[string][]Pointer{}
	visited := func(sort string, at Pointer) { got[sort] = append(got[sort], at) }
	w := &walker{
		onValue:     func(_ property, v Value) { visited("value", v.Pointer) },
		onReference: func(r Reference) { visited("reference", r.Pointer) },
		onSchema:    func(s *Schema) { visited("schema", s.Pointer) },
		onError:     func(e *ErrorDefinition) { visited("error", e.Pointer) },
	}
	w.workflow(doc, nil)
	want := map[string][]Pointer{}
	partsIn(reflect.ValueOf(*doc), want)
	for _, all := range []map[string][]Pointer{got, want} {
		for sort := range all {
			slices.Sort(all[sort])
			all[sort] = slices.Compact(all[sort])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts of the tree (-) and those that a walk visits (+):\n%s", diff)
	}
}

// TestEveryPartIsThere: the document fills every property that the comparison above is about.
func TestEveryPartIsThere(t *testing.T) {
	filled := map[string]bool{}
	fieldsIn(reflect.ValueOf(*mustEverything(t)), filled)
	for field, isFilled := range filled {
		if !isFilled {
			t.Errorf("no %s in the document", field)
		}
	}
	if len(filled) < 40 {
		t.Errorf("only %d fields found", len(filled))
	}
}

func mustEverything(t *testing.T) *Workflow {
	t.Helper()
	text, err := os.ReadFile("testdata/valid/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w, found := Parse("everything.yaml", text)
	if len(found) > 0 {
		t.Fatal(found)
	}
	return w
}

// partsIn collects the parts in v, by their sort.
func partsIn(v reflect.Value, found map[string][]Pointer) {
	add := func(sort string, at Pointer, there bool) {
		if there {
			found[sort] = append(found[sort], at)
		}
	}
	switch part := v.Interface().(type) {
	case Value:
		add("value", part.Pointer, part.Data != nil)
		return // its data is not a part of the tree
	case Expression:
		add("value", part.Pointer, part.Text != "")
	case Duration:
		add("value", part.Pointer, part.Expression != "")
	case Reference:
		add("reference", part.Pointer, part.Name != "")
	case Schema:
		add("schema", part.Pointer, true)
	case ErrorDefinition:
		add("error", part.Pointer, true)
		add("value", part.Pointer, true)
	case RaiseTask:
		add("reference", part.Reference().Pointer, part.Reference().Name != "")
	case CallFunction:
		add("reference", part.Reference().Pointer, part.Reference().Name != "")
	}
	eachInside(v, func(inner reflect.Value, _ string) { partsIn(inner, found) })
}

// fieldsIn records each field of the tree whose type has an address, and whether the field is ever filled.
func fieldsIn(v reflect.Value, filled map[string]bool) {
	eachInside(v, func(inner reflect.Value, field string) {
		switch part := inner.Interface().(type) {
		case Value:
			filled[field] = filled[field] || part.Data != nil
			return
		case Expression:
			filled[field] = filled[field] || part.Text != ""
		case Reference:
			filled[field] = filled[field] || part.Name != ""
		}
		fieldsIn(inner, filled)
	})
}

// eachInside calls visit for everything directly inside v, fields with their name.
func eachInside(v reflect.Value, visit func(inner reflect.Value, field string)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*Source]() {
			visit(v.Elem(), "")
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				visit(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), "")
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			visit(v.MapIndex(key), "")
		}
	}
}
