// Package eventtest contains valid and invalid events by CloudEvents 1.0: the subjects of the conformance suite of CloudEvents and of the examples of
// its bindings, in other words, and further ones. Tests send them through every entrance of events.
package eventtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Case is a valid or invalid event.
type Case struct {
	Name  string
	Event map[string]any
	Valid bool
	// Means is the event for listeners; nil if it equals Event.
	Means map[string]any
}

// absent is the value of an attribute that a case leaves out.
type absent struct{}

// changed returns the smallest event with other attributes.
func changed(name string, attributes map[string]any) map[string]any {
	e := map[string]any{"specversion": "1.0", "id": name, "source": "https://example.com/cases", "type": "case." + name}
	for attribute, value := range attributes {
		if value == (absent{}) {
			delete(e, attribute)
		} else {
			e[attribute] = value
		}
	}
	return e
}

// Cases returns all cases. The id and the type of each valid event contain its name.
func Cases() (all []Case) {
	for name, attributes := range valid() {
		c := Case{Name: name, Event: changed(name, attributes), Valid: true}
		c.Means = maps.Clone(c.Event)
		maps.DeleteFunc(c.Means, func(attribute string, value any) bool { return value == nil && attribute != "data" })
		all = append(all, c)
	}
	for name, attributes := range invalid() {
		all = append(all, Case{Name: name, Event: changed(name, attributes)})
	}
	slices.SortFunc(all, func(a, b Case) int { return map[bool]int{true: -1, false: 1}[a.Name < b.Name] })
	return all
}

func valid() map[string]map[string]any {
	return map[string]map[string]any{
		"smallest":             {},
		"nulls":                {"datacontenttype": nil, "dataschema": nil, "subject": nil, "time": nil, "myextension": nil, "data_base64": nil},
		"every-attribute":      {"datacontenttype": "text/plain", "dataschema": "https://example.com/schema", "subject": "s", "time": "2020-02-29T23:59:59Z", "data": "x"},
		"time-with-nanos":      {"time": "2020-02-29T23:59:59.123456789Z"},
		"time-east":            {"time": "2020-02-29T23:59:59+14:00"},
		"time-west":            {"time": "2020-02-29T23:59:59-12:30"},
		"time-in-small":        {"time": "2020-02-29t23:59:59z"},
		"source-fragment":      {"source": "#part"},
		"source-path":          {"source": "/a/b?c=d"},
		"source-urn":           {"source": "urn:example:a:b"},
		"text":                 {"datacontenttype": "text/plain", "data": "plain words"},
		"text-that-looks-json": {"datacontenttype": "text/plain", "data": `{"a": 1}`},
		"json-text":            {"datacontenttype": "application/json", "data": "a JSON text"},
		"json-null":            {"data": nil},
		"json-false":           {"data": false},
		"json-large-number":    {"data": json.Number("123456789012345678901234567890")},
		"json-deep":            {"data": map[string]any{"a": []any{map[string]any{"b": []any{}}}}},
		"media-parameters":     {"datacontenttype": `application/json; charset="utf-8"`, "data": map[string]any{"a": "é"}},
		"media-suffix":         {"datacontenttype": "application/vnd.example+json", "data": map[string]any{"a": true}},
		"base64":               {"data_base64": "AP8="},
		"extensions": {
			"extinteger": json.Number("10"), "extboolean": true, "exttext": "text", "exturi": "https://example.com", "extreference": "//a/b",
			"exttime": "2020-02-29T23:59:59Z", "extbinary": "TWE=", "x1": "digit", "averyveryverylongextensionname": "long",
		},
		// CloudEvents has integers of 32 bits, and URI references without spaces: other values are passed on unchanged (docs/decisions/0070).
		"extension-fraction": {"myextension": json.Number("1.5")},
		"extension-large":    {"myextension": json.Number("2147483648")},
		"source-space":       {"source": "a b"},
		"other-scripts":      {"subject": "日本語 и ещё", "data": "🎈"},
	}
}

func invalid() map[string]map[string]any {
	all := map[string]map[string]any{
		"schema-empty":      {"dataschema": ""},
		"schema-relative":   {"dataschema": "/a"},
		"subject-empty":     {"subject": ""},
		"media-word":        {"datacontenttype": "words"},
		"media-empty":       {"datacontenttype": ""},
		"version-old":       {"specversion": "0.3"},
		"version-number":    {"specversion": json.Number("1.0")},
		"id-number":         {"id": json.Number("7")},
		"id-object":         {"id": map[string]any{"a": "b"}},
		"extension-capital": {"MyExtension": "x"},
		"extension-dot":     {"my.extension": "x"},
		"extension-dash":    {"my-extension": "x"},
		"extension-object":  {"myextension": map[string]any{}},
		"extension-list":    {"myextension": []any{}},
		"both-data":         {"data": "text", "data_base64": "AA=="},
		"base64-none":       {"data_base64": "no base64"},
		"base64-object":     {"data_base64": map[string]any{}},
		"control-character": {"subject": "a\u0007b"},
	}
	for _, required := range []string{"specversion", "id", "source", "type"} {
		all["no-"+required] = map[string]any{required: absent{}}
		all["null-"+required] = map[string]any{required: nil}
		all["empty-"+required] = map[string]any{required: ""}
	}
	for n, time := range []string{"noon", "2020-02-29T23:59Z", "2020-02-29T23:59:59X", "2020-02-29T23:59:59+25:00", "2020-02-29T23:59:59+xx:00", "2020-02-29T23:59:59+05", "2020-02-29", "2021-02-29T00:00:00Z", ""} {
		all[fmt.Sprint("time-", n)] = map[string]any{"time": time}
	}
	return all
}
