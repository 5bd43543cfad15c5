package swrun

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/tasks"
)

// Document is a workflow document with all findings about it. Load and Parse make one. Several goroutines may run the same document.
type Document struct {
	// File is the path of the document. Relative references, and the workflows that its tasks run, are looked for in its folder. It is empty for a text
	// that was not read from a file; relative references then start from the working folder.
	File string
	// NoFiles forbids the document to read files of this machine as its resources, because another party sent its text.
	NoFiles bool
	// Resources are the contents of the external resources to which the document refers. Unless Resources is nil, no other resource is read.
	Resources map[string][]byte
	// Locations are the URLs from which relative references in resources start, for the resources that a server redirected to another URL.
	Locations map[string]string
	Text      []byte
	// Workflow is the tree of the document, as far as it could be read. It is read-only.
	Workflow    *dsl.Workflow
	Diagnostics dsl.Diagnostics // errors, warnings and hints
}

// Load reads a document from a file, and checks it. If the file cannot be read, the error is an *fs.PathError and the document is nil. A document
// with errors is returned together with them: the error is a dsl.Diagnostics.
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
	return dsl.ReadText(f)
}

// String returns namespace/name:version, or the file of a document that has no name.
func (d *Document) String() string {
	switch {
	case !d.isRead():
		return "document"
	case d.Workflow.Document.Name == "":
		return cmp.Or(d.File, "document")
	}
	return d.Workflow.Document.String()
}

// isRead reports whether Load or Parse made the document.
func (d *Document) isRead() bool { return d != nil && d.Workflow != nil }

// Err returns the errors among the diagnostics as a dsl.Diagnostics, or nil. It returns an *OptionError for a document that was made by neither Load
// nor Parse.
func (d *Document) Err() error {
	if !d.isRead() {
		return &OptionError{"document", "is missing: read one with Load or Parse"}
	}
	if errs := d.Diagnostics.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// CheckConfig configures Document.Check.
type CheckConfig struct {
	Host Host
	// Fetch lets it read schemas and other resources of the document from the network. Without it, their content is not checked.
	Fetch bool
}

// Check compiles the document, as a run does before it starts, and adds its findings to the diagnostics: tasks that this host cannot run, and
// mistakes in schemas and other resources. It runs nothing, and must not be called while the document is used elsewhere.
func (d *Document) Check(c CheckConfig) error {
	if err := d.Err(); err != nil {
		return err
	}
	e, err := c.Host.environment(0, nil)
	if err != nil {
		return err
	}
	defer e.close()
	load := d.loader(e, nil)
	if c.Fetch {
		load = d.loader(e, e.transport)
	}
	_, found := interpreter.Compile(d.Workflow, e.config(loading{d.base(), d.Workflow.Document.Namespace, load}, e.calls))
	d.Diagnostics = joined(d.Diagnostics, found)
	return d.Err()
}

// compile makes the document ready to run, and returns its findings; its errors are a dsl.Diagnostics. It changes nothing, so that several goroutines
// may use a document.
func (d *Document) compile(e *environment, load interpreter.Loader) (*interpreter.Program, dsl.Diagnostics, error) {
	p, found := interpreter.Compile(d.Workflow, e.config(loading{d.base(), d.Workflow.Document.Namespace, load}, e.calls))
	if found.Err() != nil {
		return nil, found, joined(d.Diagnostics, found).Errors()
	}
	return p, found, nil
}

// program makes the document ready to run here, with the current resources.
func (d *Document) program(e *environment) (*interpreter.Program, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	p, _, err := d.compile(e, d.loader(e, e.transport))
	return p, err
}

// loader returns a function that reads the external resources of the document. Without a transport, it fetches nothing.
func (d *Document) loader(e *environment, transport http.RoundTripper) interpreter.Loader {
	if d.Resources != nil {
		return definition.Definition{Resources: d.Resources, Locations: d.Locations}.Load
	}
	return tasks.Loader(d.base(), tasks.Sources{Transport: transport, Files: !d.NoFiles, Catalog: e.host.Catalog, Functions: e.host.Functions})
}

// WithResources returns the document with the external resources that it needs, as they are now on this machine and at the addresses that the host
// may call. Its diagnostics include the findings in these resources. Its errors are a dsl.Diagnostics.
func (d *Document) WithResources(h Host) (*Document, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	var found dsl.Diagnostics
	made, err := onHost(h, func(e *environment) (made definition.Definition, err error) {
		made, found, err = d.define(e)
		return made, err
	})
	if err != nil {
		return nil, err
	}
	whole := *d
	whole.Resources, whole.Locations, whole.Diagnostics = made.Resources, made.Locations, joined(d.Diagnostics, found)
	return &whole, nil
}

// onHost calls make with the environment of a host, and returns its result.
func onHost[T any](h Host, make func(*environment) (T, error)) (made T, err error) {
	e, err := h.environment(0, nil)
	if err != nil {
		return made, err
	}
	defer e.close()
	return make(e)
}

// Children returns the workflows that tasks of the document run or continue as, each once, whether they exist or not. The workflows that a function
// of a catalog or of a URI runs count too: these functions are read, unless the document has Resources. Its errors are a dsl.Diagnostics.
func (d *Document) Children(h Host) ([]definition.Child, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if !dsl.CallsElsewhere(d.Workflow) {
		return definition.Children(d.Workflow), nil
	}
	p, err := onHost(h, d.program)
	if err != nil {
		return nil, err
	}
	return definition.AllChildren(p), nil
}

// definition makes a definition of the document, which contains every resource that it is compiled with.
func (d *Document) definition(e *environment) (definition.Definition, error) {
	made, _, err := d.define(e)
	return made, err
}

// define is definition, and also returns the findings in the resources.
func (d *Document) define(e *environment) (definition.Definition, dsl.Diagnostics, error) {
	if err := d.Err(); err != nil {
		return definition.Definition{}, nil, err
	}
	made := definition.Definition{Document: string(d.Text), Resources: map[string][]byte{}, Locations: map[string]string{}}
	if d.File != "" {
		made.File = filepath.Base(d.File)
	}
	read := d.loader(e, e.transport)
	var unavailable *function.UnavailableError
	_, found, err := d.compile(e, func(ctx context.Context, uri string) (interpreter.Resource, error) {
		found, err := read(ctx, uri)
		if err == nil {
			made.Resources[uri] = found.Data
		}
		if found.Place != "" {
			made.Locations[uri] = found.Place
		}
		errors.As(err, &unavailable)
		return found, err
	})
	if unavailable != nil { // the document itself is valid
		err = unavailable
	}
	return made, found, err
}

// base returns the start of relative references in the document.
func (d *Document) base() string {
	if d.File == "" {
		return "document.yaml"
	}
	return d.File
}

// joined returns the findings of several passes. A finding of two passes counts once. One pass may report several mistakes at one place.
func joined(before, more dsl.Diagnostics) dsl.Diagnostics {
	all := slices.Clone(before)
	for _, f := range more {
		isThere := func(k dsl.Diagnostic) bool {
			return k.Code == f.Code && k.Pointer == f.Pointer && k.Range.Start == f.Range.Start
		}
		isSame := func(k dsl.Diagnostic) bool { return isThere(k) && k.Message == f.Message }
		if !slices.ContainsFunc(before, isThere) && !slices.ContainsFunc(all, isSame) {
			all = append(all, f)
		}
	}
	all.Sort()
	return all
}
