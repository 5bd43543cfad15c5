// Package protofile reads .proto documents and their imports, and converts JSON into the messages of their methods and back. It needs neither protoc
// nor generated code.
package protofile

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Load returns the document at a URL.
type Load func(uri string) ([]byte, error)

// Limits of a document with all of its imports.
const (
	maxFiles   = 200
	maxText    = 8 << 20
	maxNesting = 64
)

// Document is a compiled .proto document.
type Document struct {
	files    []protoreflect.FileDescriptor // the document's own first
	services map[string]protoreflect.ServiceDescriptor
}

// Parse compiles the document at uri. Its imports are loaded from its folder, or from the folder in which the path of the import begins. The files of
// protoc (google/protobuf) are built in.
func Parse(ctx context.Context, uri string, data []byte, load Load) (*Document, error) {
	s := &source{uri: uri, data: data, load: load}
	compiler := protocompile.Compiler{Resolver: s, MaxParallelism: 1}
	files, err := compiler.Compile(ctx, s.name())
	switch {
	case s.failed != nil:
		return nil, s.failed
	case err != nil:
		return nil, fmt.Errorf("%s", withoutPrefix(err.Error()))
	}
	d := &Document{services: map[string]protoreflect.ServiceDescriptor{}}
	d.add(files[0], map[string]bool{})
	return d, nil
}

// add adds a file, its imports, and their services.
func (d *Document) add(f protoreflect.FileDescriptor, known map[string]bool) {
	if known[f.Path()] {
		return
	}
	known[f.Path()] = true
	d.files = append(d.files, f)
	for i := range f.Services().Len() {
		service := f.Services().Get(i)
		d.services[string(service.FullName())] = service
	}
	for i := range f.Imports().Len() {
		d.add(f.Imports().Get(i).FileDescriptor, known)
	}
}

// UnknownError reports that a document lacks a service or a method.
type UnknownError struct {
	What    string   // service or method
	Of      string   // the service, for a method
	Name    string   // the requested name
	Nearest string   // the probably intended name, or empty
	Several bool     // the name matches all of these, in several packages
	All     []string // the existing names
}

// Error returns the message.
func (e *UnknownError) Error() string {
	if e.Several {
		return fmt.Sprintf("the .proto document has several %ss %s: %s; write the one that is meant with its package", e.What, shorten.Quoted(e.Name), strings.Join(e.All, ", "))
	}
	of := "the .proto document"
	if e.Of != "" {
		of = "the service " + e.Of
	}
	text := fmt.Sprintf("%s has no %s %s", of, e.What, shorten.Quoted(e.Name))
	if e.Nearest != "" {
		text += fmt.Sprintf("; did you mean %s?", shorten.Quoted(e.Nearest))
	}
	return text
}

// Method returns a method of a service, by their names. The error may be an *UnknownError.
func (d *Document) Method(service, method string) (*Method, error) {
	found, err := d.service(service)
	if err != nil {
		return nil, err
	}
	m := found.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		var all []string
		for i := range found.Methods().Len() {
			all = append(all, string(found.Methods().Get(i).Name()))
		}
		slices.Sort(all)
		return nil, &UnknownError{What: "method", Of: string(found.FullName()), Name: method, Nearest: suggest.Nearest(method, all), All: all}
	}
	s, err := d.sign(m)
	if err != nil {
		return nil, err
	}
	return s.Method()
}

// service returns a service by its name. The package may be left out if only one service has the name.
func (d *Document) service(name string) (protoreflect.ServiceDescriptor, error) {
	name = strings.TrimPrefix(name, ".")
	if found := d.services[name]; found != nil {
		return found, nil
	}
	all := slices.Sorted(maps.Keys(d.services))
	var fit []string
	for _, one := range all {
		if strings.HasSuffix(one, "."+name) {
			fit = append(fit, one)
		}
	}
	switch len(fit) {
	case 0:
		return nil, &UnknownError{What: "service", Name: name, Nearest: suggest.Nearest(name, all), All: all}
	case 1:
		return d.services[fit[0]], nil
	}
	return nil, &UnknownError{What: "service", Name: name, Several: true, All: fit}
}

// source finds the texts of a document and of its imports.
type source struct {
	uri    string
	data   []byte
	load   Load
	files  int
	text   int
	failed error // the reason why a file could not be loaded, which is clearer than the error of the compiler
}

// name returns the name of the document among its imports.
func (s *source) name() string {
	place, _, _ := strings.Cut(s.uri, "?")
	if name := path.Base(place); path.Ext(name) == ".proto" && !strings.ContainsAny(name, "%#") {
		return name
	}
	return "document.proto"
}

// FindFileByPath implements protocompile.Resolver.
func (s *source) FindFileByPath(name string) (protocompile.SearchResult, error) {
	if strings.HasPrefix(name, "google/protobuf/") {
		return protocompile.WithStandardImports(none{}).FindFileByPath(name)
	}
	data, err := s.read(name)
	if err == nil {
		err = s.check(name, data)
	}
	if err != nil {
		if s.failed == nil {
			s.failed = err
		}
		return protocompile.SearchResult{}, err
	}
	return protocompile.SearchResult{Source: bytes.NewReader(data)}, nil
}

func (s *source) read(name string) ([]byte, error) {
	if s.files == 0 {
		return s.data, nil // the document itself is requested first
	}
	if name == s.name() {
		return nil, fmt.Errorf("the .proto document imports itself")
	}
	return s.imported(name)
}

// check counts a file, and refuses files that would take too much to compile.
func (s *source) check(name string, data []byte) error {
	s.files++
	s.text += len(data)
	switch {
	case s.files > maxFiles:
		return fmt.Errorf("the .proto document imports more than %d files", maxFiles)
	case s.text > maxText:
		return fmt.Errorf("the .proto document and what it imports are larger than %d bytes", maxText)
	case nesting(data) > maxNesting:
		return fmt.Errorf("%s is nested deeper than %d levels", name, maxNesting)
	}
	return nil
}

// nesting returns the depth of the nested brackets of a text, regardless of their meaning.
func nesting(data []byte) (deepest int) {
	depth := 0
	for _, c := range data {
		switch c {
		case '{', '[', '(', '<':
			depth++
			deepest = max(deepest, depth)
		case '}', ']', ')', '>':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// none finds nothing.
type none struct{}

func (none) FindFileByPath(name string) (protocompile.SearchResult, error) {
	return protocompile.SearchResult{}, fmt.Errorf("there is no %s", name)
}
