package swrun

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/tasks"
)

// Document is a workflow document with everything that was found in it. Several goroutines may run one.
type Document struct {
	// File is where the text comes from: the documents that its tasks run, and the resources that it names, are looked for from
	// there. Empty for a text that comes from nowhere.
	File string
	Text []byte
	// Workflow is what could be read; it is read-only.
	Workflow    *dsl.Workflow
	Diagnostics dsl.Diagnostics // errors, warnings and hints
}

// maxDocument is how many bytes of a file are read; dsl.Parse takes less.
const maxDocument = 1 << 20

// Load reads a document from a file, and checks it. If it has errors, they are a dsl.Diagnostics, and the document is returned
// all the same.
func Load(file string) (*Document, error) {
	text, err := readDocument(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text)
}

// Parse is Load for a text; file may be empty.
func Parse(file string, text []byte) (*Document, error) {
	d := &Document{File: file, Text: text}
	var found dsl.Diagnostics
	d.Workflow, found = dsl.Parse(cmp.Or(file, "document"), text)
	d.Diagnostics = joined(found, interpreter.Check(d.Workflow))
	return d, d.Err()
}

func readDocument(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("%s is larger than any document: %d bytes", file, maxDocument)
	}
	return text, err
}

// String returns namespace/name:version, or the file of a document that has no name.
func (d *Document) String() string {
	if d.Workflow.Document.Name == "" {
		return cmp.Or(d.File, "document")
	}
	return d.Workflow.Document.String()
}

// Err returns the errors among the diagnostics as a dsl.Diagnostics, or nil.
func (d *Document) Err() error {
	if errs := d.Diagnostics.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Check adds to the diagnostics what shows only when the document is compiled: what this host cannot run, and what is wrong with
// schemas and other resources. Fetch allows to read those from the network. It runs nothing, and must not be called while the
// document is used elsewhere.
func (d *Document) Check(h Host, fetch bool) error {
	if err := d.Err(); err != nil {
		return err
	}
	e, err := h.environment(0)
	if err != nil {
		return err
	}
	defer e.close()
	load := tasks.Loader(d.base(), nil, true)
	if fetch {
		load = tasks.Loader(d.base(), e.transport, true)
	}
	_, found := interpreter.Compile(d.Workflow, e.config(d.base(), load, e.calls))
	d.Diagnostics = joined(d.Diagnostics, found)
	return d.Err()
}

// compile makes the document ready to run; its errors are a dsl.Diagnostics. It changes nothing, so that a document may be used by
// several goroutines.
func (d *Document) compile(e *environment, load interpreter.Loader) (*interpreter.Program, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	p, found := interpreter.Compile(d.Workflow, e.config(d.base(), load, e.calls))
	if found.Err() != nil {
		return nil, joined(d.Diagnostics, found).Errors()
	}
	return p, nil
}

// program makes the document ready to run here, with resources as they are now.
func (d *Document) program(e *environment) (*interpreter.Program, error) {
	return d.compile(e, tasks.Loader(d.base(), e.transport, true))
}

// definition makes the document a definition: every resource that it is compiled with is read, once, and kept.
func (d *Document) definition(e *environment) (definition.Definition, error) {
	made := definition.Definition{Document: string(d.Text), Resources: map[string][]byte{}}
	if d.File != "" {
		made.File = filepath.Base(d.File)
	}
	read := tasks.Loader(d.base(), e.transport, true)
	_, err := d.compile(e, func(ctx context.Context, uri string) ([]byte, error) {
		data, err := read(ctx, uri)
		if err == nil {
			made.Resources[uri] = data
		}
		return data, err
	})
	return made, err
}

// base is what relative references in the document start from.
func (d *Document) base() string {
	if d.File == "" {
		return "document.yaml"
	}
	return d.File
}

// joined returns what several passes found; a finding that two of them report stays one.
func joined(before, more dsl.Diagnostics) dsl.Diagnostics {
	all := slices.Clone(before)
	for _, f := range more {
		known := slices.ContainsFunc(all, func(k dsl.Diagnostic) bool {
			return k.Code == f.Code && k.Pointer == f.Pointer && k.Range.Start == f.Range.Start
		})
		if !known {
			all = append(all, f)
		}
	}
	all.Sort()
	return all
}
