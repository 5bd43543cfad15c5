package protofile

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Signature contains the parts of the documents that a call of a method needs, in a form for storage.
type Signature struct {
	Path     string `json:"path"` // in the request: /package.Service/Method
	Input    string `json:"input"`
	Output   string `json:"output"`
	Requests bool   `json:"requests,omitempty"` // the method takes a stream of requests
	Answers  bool   `json:"answers,omitempty"`  // the method returns a stream of answers
	Types    []byte `json:"types"`              // a FileDescriptorSet of the messages that Input and Output need, each file after its imports
}

// own is the prefix of the built-in files.
const own = "google/protobuf/"

// sign returns the signature of a method.
func (d *Document) sign(m protoreflect.MethodDescriptor) (Signature, error) {
	s := Signature{
		Path:  "/" + string(m.Parent().FullName()) + "/" + string(m.Name()),
		Input: string(m.Input().FullName()), Output: string(m.Output().FullName()),
		Requests: m.IsStreamingClient(), Answers: m.IsStreamingServer(),
	}
	needed := types{}
	needed.add(m.Input())
	needed.add(m.Output())
	if needed["google.protobuf.Any"] { // it may contain any message
		for _, f := range d.files {
			needed.addAll(f.Messages())
		}
	}
	set := &descriptorpb.FileDescriptorSet{}
	written := map[string]bool{}
	for _, f := range d.files {
		needed.write(f, set, written)
	}
	var err error
	s.Types, err = proto.MarshalOptions{Deterministic: true}.Marshal(set)
	return s, err
}

// types are the needed messages and enumerations, by name.
type types map[protoreflect.FullName]bool

func (t types) add(m protoreflect.MessageDescriptor) {
	if t[m.FullName()] {
		return
	}
	t[m.FullName()] = true
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Message() != nil {
			t.add(f.Message())
		}
		if f.Enum() != nil {
			t[f.Enum().FullName()] = true
		}
	}
}

func (t types) addAll(messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		t.add(messages.Get(i))
		t.addAll(messages.Get(i).Messages())
	}
}

// write adds the needed parts of a file, after the files that it imports.
func (t types) write(f protoreflect.FileDescriptor, set *descriptorpb.FileDescriptorSet, written map[string]bool) {
	if written[f.Path()] || strings.HasPrefix(f.Path(), own) {
		return
	}
	written[f.Path()] = true
	full := protodesc.ToFileDescriptorProto(f)
	kept := &descriptorpb.FileDescriptorProto{
		Name: full.Name, Package: full.Package, Syntax: full.Syntax, Edition: full.Edition,
		Dependency: full.Dependency, PublicDependency: full.PublicDependency,
		MessageType: t.messages(f.FullName(), full.MessageType), EnumType: t.enums(f.FullName(), full.EnumType),
	}
	if features := full.GetOptions().GetFeatures(); features != nil {
		kept.Options = &descriptorpb.FileOptions{Features: features}
	}
	for i := range f.Imports().Len() {
		t.write(f.Imports().Get(i).FileDescriptor, set, written)
	}
	set.File = append(set.File, kept)
}

// messages returns the needed messages, and the messages with a needed one inside.
func (t types) messages(parent protoreflect.FullName, all []*descriptorpb.DescriptorProto) (kept []*descriptorpb.DescriptorProto) {
	for _, m := range all {
		name := parent.Append(protoreflect.Name(m.GetName()))
		m.NestedType, m.EnumType = t.messages(name, m.NestedType), t.enums(name, m.EnumType)
		m.Extension = nil
		switch {
		case t[name]:
			strip(m)
		case len(m.NestedType)+len(m.EnumType) > 0:
			m = &descriptorpb.DescriptorProto{Name: m.Name, NestedType: m.NestedType, EnumType: m.EnumType}
		default:
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

// strip removes unneeded options from a message.
func strip(m *descriptorpb.DescriptorProto) {
	if o := m.Options; o != nil {
		m.Options = &descriptorpb.MessageOptions{MapEntry: o.MapEntry, MessageSetWireFormat: o.MessageSetWireFormat, Features: o.Features}
	}
	for _, f := range m.Field {
		if o := f.Options; o != nil {
			f.Options = &descriptorpb.FieldOptions{Packed: o.Packed, Features: o.Features}
		}
	}
	for _, o := range m.OneofDecl {
		o.Options = nil
	}
	for _, r := range m.ExtensionRange {
		r.Options = nil
	}
}

func (t types) enums(parent protoreflect.FullName, all []*descriptorpb.EnumDescriptorProto) (kept []*descriptorpb.EnumDescriptorProto) {
	for _, e := range all {
		if !t[parent.Append(protoreflect.Name(e.GetName()))] {
			continue
		}
		if o := e.Options; o != nil {
			e.Options = &descriptorpb.EnumOptions{AllowAlias: o.AllowAlias, Features: o.Features}
		}
		for _, v := range e.Value {
			v.Options = nil
		}
		kept = append(kept, e)
	}
	return kept
}

// Method returns the method of a signature.
func (s Signature) Method() (*Method, error) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(s.Types, set); err != nil {
		return nil, err
	}
	files := registry{&protoregistry.Files{}}
	for _, f := range set.File {
		known, err := protodesc.FileOptions{AllowUnresolvable: true}.New(f, files) // imports without needed parts are kept too
		if err == nil {
			err = files.RegisterFile(known)
		}
		if err != nil {
			return nil, fmt.Errorf("%s", withoutPrefix(err.Error()))
		}
	}
	m := &Method{Signature: s, types: resolver{dynamicpb.NewTypes(files.Files)}}
	var err error
	if m.input, err = files.message(s.Input); err == nil {
		m.output, err = files.message(s.Output)
	}
	return m, err
}

// registry contains the files of a signature and the built-in files.
type registry struct{ *protoregistry.Files }

func (r registry) FindFileByPath(name string) (protoreflect.FileDescriptor, error) {
	if strings.HasPrefix(name, own) {
		return protoregistry.GlobalFiles.FindFileByPath(name)
	}
	return r.Files.FindFileByPath(name)
}

func (r registry) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if strings.HasPrefix(string(name), "google.protobuf.") {
		return protoregistry.GlobalFiles.FindDescriptorByName(name)
	}
	return r.Files.FindDescriptorByName(name)
}

func (r registry) message(name string) (protoreflect.MessageDescriptor, error) {
	found, err := r.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	message, ok := found.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no message", name)
	}
	return message, nil
}

// resolver finds the types that a google.protobuf.Any names.
type resolver struct{ *dynamicpb.Types }

func (r resolver) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if name := url[strings.LastIndexByte(url, '/')+1:]; strings.HasPrefix(name, "google.protobuf.") {
		return protoregistry.GlobalTypes.FindMessageByURL(url)
	}
	return r.Types.FindMessageByURL(url)
}
