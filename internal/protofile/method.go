package protofile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Method is a method for calls.
type Method struct {
	Signature
	input, output protoreflect.MessageDescriptor
	types         resolver
}

// maxDepth is the maximum depth of nested messages.
const maxDepth = 1000

// Request encodes a request. Its fields may have the names of JSON or of the document.
func (m *Method) Request(data json.RawMessage) ([]byte, error) {
	message := dynamicpb.NewMessage(m.input)
	if err := (protojson.UnmarshalOptions{Resolver: m.types, RecursionLimit: maxDepth}).Unmarshal(data, message); err != nil {
		return nil, fmt.Errorf("%s", withoutPlace(err.Error()))
	}
	return proto.Marshal(message)
}

// Answer decodes an answer to JSON, with the names of JSON. Fields with their default value, which cannot be unset, are included.
func (m *Method) Answer(data []byte) (json.RawMessage, error) {
	message := dynamicpb.NewMessage(m.output)
	if err := (proto.UnmarshalOptions{Resolver: m.types, RecursionLimit: maxDepth}).Unmarshal(data, message); err != nil {
		return nil, fmt.Errorf("%s", withoutPlace(err.Error()))
	}
	text, err := protojson.MarshalOptions{Resolver: m.types, EmitDefaultValues: true}.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("%s", withoutPlace(err.Error()))
	}
	return text, nil
}

// withoutPrefix returns a message without the common prefix of its library.
func withoutPrefix(text string) string {
	return strings.TrimLeft(strings.TrimPrefix(text, "proto:"), " \u00a0")
}

var place = lazyregexp.New(`^(syntax error )?\(line \d+:\d+\): `)

// withoutPlace returns a message without its place in generated JSON.
func withoutPlace(text string) string {
	return place().ReplaceAllString(strings.ReplaceAll(withoutPrefix(text), "\u00a0", " "), "")
}

// UnknownField is a field that a message lacks.
type UnknownField struct {
	Path    []string // to it
	Of      string   // the message
	Nearest string   // the probably intended field, or empty
	All     []string // the existing fields
}

// Error returns the message.
func (f UnknownField) Error() string {
	text := fmt.Sprintf("the message %s has no field %s", f.Of, shorten.Quoted(f.Path[len(f.Path)-1]))
	if f.Nearest != "" {
		text += fmt.Sprintf("; did you mean %s?", shorten.Quoted(f.Nearest))
	}
	return text
}

// Check returns the fields of a request that the method lacks, in order. Values may be expressions.
func (m *Method) Check(request any) []UnknownField { return check(m.input, request, nil) }

func check(message protoreflect.MessageDescriptor, v any, at []string) (wrong []UnknownField) {
	object, ok := v.(map[string]any)
	if !ok || strings.HasPrefix(string(message.FullName()), "google.protobuf.") {
		return nil // well-known types have their own JSON
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		here := append(slices.Clone(at), name)
		f := message.Fields().ByJSONName(name)
		if f == nil {
			f = message.Fields().ByTextName(name)
		}
		if f == nil {
			all := names(message)
			wrong = append(wrong, UnknownField{here, string(message.FullName()), suggest.Nearest(name, all), all})
			continue
		}
		wrong = append(wrong, checkField(f, object[name], here)...)
	}
	return wrong
}

// checkField checks the value of a field, which may be several messages.
func checkField(f protoreflect.FieldDescriptor, v any, at []string) (wrong []UnknownField) {
	if f.IsMap() {
		if f = f.MapValue(); f.Message() == nil {
			return nil
		}
		entries, _ := v.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			wrong = append(wrong, check(f.Message(), entries[key], append(slices.Clone(at), key))...)
		}
		return wrong
	}
	if f.Message() == nil {
		return nil
	}
	if !f.IsList() {
		return check(f.Message(), v, at)
	}
	items, _ := v.([]any)
	for i, item := range items {
		wrong = append(wrong, check(f.Message(), item, append(slices.Clone(at), strconv.Itoa(i)))...)
	}
	return wrong
}

func names(message protoreflect.MessageDescriptor) (all []string) {
	for i := range message.Fields().Len() {
		all = append(all, message.Fields().Get(i).JSONName())
	}
	slices.Sort(all)
	return all
}
