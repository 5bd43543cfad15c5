package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
)

// library finds the workflows that run.workflow tasks name: the document itself, those of --workflow, and the
// documents beside it, which are read when the first is asked for (semantics 10.7).
type library struct {
	compile func(file string, w *dsl.Workflow) (*interpreter.Program, dsl.Diagnostics)
	folder  string // empty once it has been read
	books   []*book
}

// book is a document that can be asked for.
type book struct {
	namespace, name, version string
	file                     string
	document                 *document // nil until it is read
	program                  *interpreter.Program
	fault                    *errors.Error
}

func newLibrary(s streams, d *document, names []string, compile func(string, *dsl.Workflow) (*interpreter.Program, dsl.Diagnostics)) (*library, error) {
	l := &library{compile: compile, folder: filepath.Dir(baseFile(d.file))}
	l.add(d)
	for _, name := range names {
		file, text, err := readDocument(s, name)
		if err != nil {
			return nil, err
		}
		other := parseText(file, text)
		if err := other.refused(); err != nil {
			return nil, err
		}
		l.add(other)
	}
	return l, nil
}

func (l *library) add(d *document) {
	doc := d.workflow.Document
	l.books = append(l.books, &book{namespace: doc.Namespace, name: doc.Name, version: doc.Version, file: d.file, document: d})
}

// find returns the program of a workflow; it is what local.Workflows describes.
func (l *library) find(namespace, name, version string) (*interpreter.Program, *errors.Error) {
	b := l.named(definition.Reference{Namespace: namespace, Name: name, Version: version})
	if b == nil {
		return nil, errors.Configurationf("there is no workflow %s/%s:%s among the documents beside this one%s; name its file with --workflow",
			namespace, name, version, l.known(namespace, name))
	}
	if b.program == nil && b.fault == nil {
		b.program, b.fault = l.open(b)
	}
	return b.program, b.fault
}

func (l *library) known(namespace, name string) string {
	var versions []string
	for _, b := range l.books {
		if b.namespace == namespace && b.name == name {
			versions = append(versions, b.version)
		}
	}
	if len(versions) == 0 {
		return ""
	}
	slices.Sort(versions)
	return ", which has version " + strings.Join(slices.Compact(versions), ", ")
}

// choose returns the book with an exact version, or the latest: the highest release, or the highest pre-release if
// there is no release. The first of equals wins.
func (l *library) choose(namespace, name, version string) *book {
	var best *book
	for _, b := range l.books {
		if b.namespace != namespace || b.name != name {
			continue
		}
		if b.version == version {
			return b
		}
		if version == "latest" && (best == nil || definition.Later(b.version, best.version)) {
			best = b
		}
	}
	return best
}

// readFolder notes what the documents beside the first one are called. What is no workflow document is passed over.
func (l *library) readFolder() {
	if l.folder == "" {
		return
	}
	folder := l.folder
	l.folder = ""
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // the workflow is reported as unknown then
	}
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		known := slices.ContainsFunc(l.books, func(b *book) bool { return filepath.Clean(b.file) == file })
		extension := strings.ToLower(filepath.Ext(file))
		if known || entry.IsDir() || extension != ".yaml" && extension != ".yml" && extension != ".json" {
			continue
		}
		if b := title(file); b != nil {
			l.books = append(l.books, b)
		}
	}
}

// isFile reports whether something in a folder is a file that can be read, and no pipe or device, which may never end.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// title reads no more of a file than what it calls itself, or returns nil.
func title(file string) *book {
	if !isFile(file) {
		return nil
	}
	text, err := readFile("the document", file, bound{bytes: maxDocument})
	if err != nil {
		return nil
	}
	w, _ := dsl.Parse(file, text)
	document, _ := w.Source.Data("/document").(map[string]any)
	if document["dsl"] == nil {
		return nil
	}
	member := func(name string) string { // What is no text is told when the document is opened
		text, _ := document[name].(string)
		return text
	}
	return &book{namespace: member("namespace"), name: member("name"), version: member("version"), file: file}
}

// open compiles a book's document.
func (l *library) open(b *book) (*interpreter.Program, *errors.Error) {
	if b.document == nil {
		text, err := readFile("the document", b.file, bound{bytes: maxDocument})
		if err != nil {
			return nil, errors.Configurationf("the workflow %s/%s:%s cannot be read: %s", b.namespace, b.name, b.version, err)
		}
		b.document = parseText(b.file, text)
	}
	if err := b.document.diagnostics.Err(); err != nil {
		return nil, errors.Configurationf("the workflow %s/%s:%s is not valid: %s", b.namespace, b.name, b.version, err)
	}
	program, found := l.compile(b.file, b.document.workflow)
	if err := found.Err(); err != nil {
		return nil, errors.Configurationf("the workflow %s/%s:%s is not valid: %s", b.namespace, b.name, b.version, err)
	}
	return program, nil
}

// workflow returns the workflow that a reference means, if its document could be read; otherwise nil.
func (l *library) workflow(r definition.Reference) *dsl.Workflow {
	b := l.named(r)
	if b == nil || b.document == nil {
		return nil
	}
	return b.document.workflow
}
