package swrun

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
)

// Documents finds the workflows that run.workflow tasks name: first among the given documents, then among the files in the folder of the first
// document, unless it has NoFiles. If two different given documents have the same namespace, name and version, neither is chosen; the same holds for
// two files. It must not be used by several goroutines at the same time.
type Documents struct {
	// Hint is the end of the error about a workflow that is not found: the remedy.
	Hint string
	// Host is used to read functions from elsewhere that are called by workflows which no run has started.
	Host Host

	folder string // to search; empty after the search
	known  []*titled
}

// titled is a document whose namespace, name and version are known.
type titled struct {
	definition.Reference
	file     string
	given    bool // not found in the folder
	sum      [sha256.Size]byte
	document *Document            // nil until it is read
	program  *interpreter.Program // used by a run
	looked   *interpreter.Program // compiled for inspection only
	fault    *errors.Error
}

// NewDocuments returns a Documents of some documents, and of the files in the folder of the first.
func NewDocuments(all ...*Document) *Documents {
	d := &Documents{}
	all = slices.DeleteFunc(slices.Clone(all), func(one *Document) bool { return !one.isRead() })
	if len(all) > 0 && all[0].File != "" && !all[0].NoFiles {
		d.folder = filepath.Dir(all[0].File)
	}
	for _, one := range all {
		doc := one.Workflow.Document
		d.known = append(d.known, &titled{Reference: definition.Reference{Namespace: doc.Namespace, Name: doc.Name, Version: doc.Version}, file: one.File, given: true, sum: sha256.Sum256(one.Text), document: one})
	}
	return d
}

// Workflow returns the workflow to which a reference refers, or nil if it does not exist.
func (d *Documents) Workflow(r definition.Reference) *dsl.Workflow {
	found := d.find(r)
	if found == nil || d.duplicate(found) != nil || found.read() != nil {
		return nil
	}
	return found.document.Workflow
}

// ChildrenOf returns the workflows that the tasks of the referenced workflow run or continue as. They include tasks of functions from elsewhere, as
// far as these functions can be read.
func (d *Documents) ChildrenOf(r definition.Reference) []definition.Child {
	w := d.Workflow(r)
	if w == nil {
		return nil
	}
	if dsl.CallsElsewhere(w) {
		if p := d.compiled(r); p != nil {
			return definition.AllChildren(p)
		}
	}
	return definition.Children(w)
}

// StartedBy returns the workflow that a task of the referenced workflow runs. The task may be in a function from elsewhere. ok is false if the
// workflow is unknown.
func (d *Documents) StartedBy(r definition.Reference, task dsl.Pointer) (child definition.Reference, ok bool) {
	if d.Workflow(r) == nil {
		return child, false
	}
	p := d.compiled(r)
	if p == nil {
		return child, false
	}
	runs := p.Runs()
	n := slices.IndexFunc(runs, func(run interpreter.WorkflowRun) bool { return run.At == task })
	if n < 0 {
		return child, false
	}
	return definition.Reference{Namespace: runs[n].Namespace, Name: runs[n].Name, Version: runs[n].Version}, true
}

// compiled returns a workflow with the functions from elsewhere that it calls: in the form that a run uses, or in their current form. It returns nil
// if they cannot be read.
func (d *Documents) compiled(r definition.Reference) *interpreter.Program {
	t := d.find(r)
	if t.program != nil || t.fault != nil {
		return t.program
	}
	if t.looked == nil {
		t.looked, _ = onHost(d.Host, t.document.program)
	}
	return t.looked
}

// find returns the document to which a reference refers, or nil.
func (d *Documents) find(r definition.Reference) *titled {
	found := d.choose(r)
	if found == nil || r.Version == definition.Latest {
		d.readFolder()
		found = d.choose(r)
	}
	return found
}

// duplicate returns a *DuplicateError if another document has the same namespace, name and version. Given documents precede documents in the folder.
func (d *Documents) duplicate(found *titled) error {
	for _, t := range d.known {
		if t.Reference == found.Reference && t.given == found.given && t.sum != found.sum {
			return &DuplicateError{found.String(), [2]string{found.file, t.file}}
		}
	}
	return nil
}

// choose returns the document with an exact version, or the latest: the highest release, or the highest pre-release if
// there is no release. The first of equals wins.
func (d *Documents) choose(r definition.Reference) *titled {
	var best *titled
	for _, t := range d.known {
		if t.Namespace != r.Namespace || t.Name != r.Name {
			continue
		}
		if t.Version == r.Version {
			return t
		}
		if r.Version == definition.Latest && (best == nil || definition.Later(t.Version, best.Version)) {
			best = t
		}
	}
	return best
}

// program returns a function that returns the program of a workflow, as local.Workflows specifies it.
func (d *Documents) program(e *environment) func(namespace, name, version string) (*interpreter.Program, *errors.Error) {
	return func(namespace, name, version string) (*interpreter.Program, *errors.Error) {
		r := definition.Reference{Namespace: namespace, Name: name, Version: version}
		t := d.find(r)
		if t == nil {
			return nil, errors.Configurationf("there is no workflow %s among the documents beside this one%s%s", r, d.versions(r), d.Hint)
		}
		if err := d.duplicate(t); err != nil {
			return nil, errors.Configurationf("%s", err)
		}
		if t.program == nil && t.fault == nil {
			t.program, t.fault = t.compile(e)
		}
		return t.program, t.fault
	}
}

func (d *Documents) versions(r definition.Reference) string {
	var versions []string
	for _, t := range d.known {
		if t.Namespace == r.Namespace && t.Name == r.Name {
			versions = append(versions, t.Version)
		}
	}
	if len(versions) == 0 {
		return ""
	}
	slices.Sort(versions)
	return ", which has version " + strings.Join(slices.Compact(versions), ", ")
}

// read reads the document from its file, unless it is read already. Mistakes in the document are among its diagnostics.
func (t *titled) read() error {
	if t.document != nil {
		return nil
	}
	text, err := readDocument(t.file)
	if err == nil {
		t.document, _ = Parse(t.file, text)
	}
	return err
}

// compile makes the document ready to run.
func (t *titled) compile(e *environment) (*interpreter.Program, *errors.Error) {
	if err := t.read(); err != nil {
		return nil, errors.Configurationf("the workflow %s cannot be read: %s", t, err)
	}
	program, err := t.document.program(e)
	if err != nil {
		return nil, errors.Configurationf("the workflow %s is not valid: %s", t, err)
	}
	return program, nil
}

// definitions returns the definitions of the workflows that the tasks of a document run, of the workflows that these run, and so on, as far as they
// are found.
func (d *Documents) definitions(of *Document, e *environment) (all []definition.Definition, err error) {
	found, err := d.children(of, e)
	for _, child := range found {
		made, err := child.definition(e)
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	return all, err
}

// Children returns the documents of the workflows that the tasks of a document run, of the workflows that these run, and so on, as far as they are found.
func (d *Documents) Children(of *Document, h Host) ([]*Document, error) {
	e, err := h.environment(0, nil)
	if err != nil {
		return nil, err
	}
	defer e.close()
	return d.children(of, e)
}

func (d *Documents) children(of *Document, e *environment) (all []*Document, err error) {
	seen := map[*titled]bool{}
	var named []definition.Reference
	if p, err := of.program(e); err == nil {
		named = definition.ChildrenOf(p)
	} else { // the error is reported where the program is needed
		for _, child := range definition.Children(of.Workflow) {
			named = append(named, child.Reference)
		}
	}
	for next := [][]definition.Reference{named}; len(next) > 0; next = next[1:] {
		for _, r := range next[0] {
			t := d.find(r)
			if t == nil || seen[t] {
				continue
			}
			seen[t] = true
			if err := d.duplicate(t); err != nil {
				return nil, err
			}
			p, fault := t.compile(e)
			if fault != nil {
				return nil, errors.New(fault.Detail)
			}
			all, next = append(all, t.document), append(next, definition.ChildrenOf(p))
		}
	}
	return all, nil
}

// readFolder records the titles of the documents in the folder. It skips files that are not workflow documents.
func (d *Documents) readFolder() {
	if d.folder == "" {
		return
	}
	folder := d.folder
	d.folder = ""
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // the workflow is then reported as unknown
	}
	for _, entry := range entries {
		file := filepath.Join(folder, entry.Name())
		known := slices.ContainsFunc(d.known, func(t *titled) bool { return filepath.Clean(t.file) == file })
		if known || entry.IsDir() || !isDocument(file) {
			continue
		}
		if title, ok := titleOf(file); ok {
			d.known = append(d.known, title)
		}
	}
}

// isDocument reports by the name of a file whether it may contain a document.
func isDocument(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(file)))
}

// titleOf reads the namespace, name and version of the document in a file. It reads no pipes and no devices, which may never end.
func titleOf(file string) (title *titled, ok bool) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	text, err := readDocument(file)
	if err != nil {
		return nil, false
	}
	r, ok := definition.Title(text)
	return &titled{Reference: r, file: file, sum: sha256.Sum256(text)}, ok
}
