package interpreter

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
)

// maxRemoteFunctions is the maximum number of remote functions in a document, including functions that other functions call.
const maxRemoteFunctions = 100

// RemoteFunction compiles a remote function with a literal URI as the only child of the task. Each function is compiled once, so that it may call
// itself. It returns nil if the function cannot be read or is not valid, which is reported. A function that is not fetched is no error.
func (b *Builder) RemoteFunction(r *dsl.ExternalResource) *List {
	uri := r.Endpoint.URI.Text()
	at := b.c.remote.at(uri, b.Located(uri))
	b.c.remote.note(b.node.task, at, b.c.caller)
	list := b.c.functions[function{at, b.c.inExtension}]
	if list == nil {
		list = b.readFunction(r, at)
	}
	if list != nil {
		b.node.lists = append(b.node.lists, list)
	}
	return list
}

func (b *Builder) readFunction(r *dsl.ExternalResource, at dsl.Pointer) *List {
	if len(b.c.program.texts) >= maxRemoteFunctions {
		b.Report("SW802", r.Endpoint.Pointer, fmt.Sprintf("the functions that the document calls, and those that they call, are more than %d", maxRemoteFunctions))
		return nil
	}
	text, ok := b.Load(r)
	if !ok {
		return nil
	}
	base := b.node.task.Base()
	place := b.c.remote.places[at]
	w, task, found := dsl.ParseFunction(place, text.Data, base.Name, at)
	w.Document = b.c.workflow.Document
	c := b.c.of(w, text.Place)
	c.caller = cmp.Or(b.c.caller, base.Pointer)
	c.diagnostics = found.Errors()
	var list *List
	if len(c.diagnostics) == 0 && task != nil {
		c.program.texts[at] = w.Source
		c.remote.tasks[string(at)] = task
		list = c.function(at, task)
	}
	b.c.seesWorkflow, b.c.seesTask = c.seesWorkflow, c.seesTask
	b.reportRemote(r, place, c.diagnostics)
	return list
}

// of returns the compiler of a function at a place. w is the text of the function.
func (c *compiler) of(w *dsl.Workflow, place string) *compiler {
	inside := *c
	inside.workflow, inside.base = w, place
	return &inside
}

// CheckFunction compiles the text of the function for a URI alone. It returns the diagnostics, and the workflows that the function runs. file is the
// name of the text in the diagnostics; their pointers are pointers in the text.
func CheckFunction(file, uri string, text []byte, config Config) (dsl.Diagnostics, []WorkflowRun) {
	at := dsl.RemoteFunction(uri)
	w, task, found := dsl.ParseFunction(file, text, "function", at)
	var runs []WorkflowRun
	if found.Err() == nil && task != nil {
		alone, loaded := newCompiler(w, config)
		defer loaded()
		c := alone.of(w, uri)
		c.remote.places[at] = uri
		c.program.texts[at] = w.Source
		c.remote.tasks[string(at)] = task
		c.function(at, task)
		c.checkRecursion()
		found, runs = append(found, c.diagnostics...), c.program.runs
		found.Sort()
	}
	for n := range found {
		found[n].Pointer = dsl.Pointer(strings.TrimPrefix(string(found[n].Pointer), string(at)))
	}
	for n := range runs {
		runs[n].Task = dsl.Pointer(strings.TrimPrefix(string(runs[n].Task), string(at)))
		if runs[n].Function == uri {
			runs[n].Function = ""
		}
	}
	return found, runs
}

// reportRemote reports the diagnostics of the remote function at a place, at the call of the function.
func (b *Builder) reportRemote(r *dsl.ExternalResource, place string, found dsl.Diagnostics) {
	const most = 3
	errors := found.Errors()
	for n, d := range errors {
		if n == most {
			b.Report("SW802", r.Endpoint.Pointer, fmt.Sprintf("and %d more mistakes in the function at %s", len(errors)-most, place))
			break
		}
		message := fmt.Sprintf("the function at %s is not valid: line %d: %s", place, d.Range.Start.Line, d.Message)
		if d.Help != "" {
			message += " (" + d.Help + ")"
		}
		b.Report("SW802", r.Endpoint.Pointer, message)
	}
	for _, d := range found {
		if d.Severity == dsl.SeverityInfo { // a resource that was not fetched, and so not checked
			d.Pointer = r.Endpoint.Pointer
			b.Add(d)
		}
	}
}

// Located returns the place of a literal URI, in the form for Read. In a remote function, relative URIs start from the place of the function.
func (b *Builder) Located(uri string) string {
	if uri = RelativeFile(uri); b.c.base == "" {
		return uri
	}
	return beside(b.c.base, uri)
}

// RelativeFile returns the relative reference for a file URL without an absolute path: file://greet.proto is greet.proto beside the document, as in
// the specification. In a URL, the text after the two slashes is a host, from which no file can be read. Every other reference is returned unchanged,
// also a reference that leads out of the document's folder.
func RelativeFile(reference string) string {
	u, err := url.Parse(reference)
	if err != nil || u.Scheme != "file" || u.User != nil {
		return reference
	}
	place := u.Host + u.Path
	if u.Opaque != "" {
		if place, err = url.PathUnescape(u.Opaque); err != nil {
			return reference
		}
	} else if u.Host == "" || strings.EqualFold(u.Host, "localhost") {
		return reference
	}
	if place = path.Clean(place); path.IsAbs(place) || place == ".." || strings.HasPrefix(place, "../") {
		return reference
	}
	return (&url.URL{Path: place}).String()
}

// beside resolves a reference in a remote function: relative references start from the place of the function.
func beside(base, reference string) string {
	from, err := url.Parse(base)
	if err != nil {
		return reference
	}
	to, err := from.Parse(RelativeFile(reference))
	if err != nil {
		return reference
	}
	if relative, err := url.Parse(RelativeFile(reference)); err == nil && !from.IsAbs() && from.Host == "" && !path.IsAbs(from.Path) &&
		!relative.IsAbs() && relative.Host == "" && !path.IsAbs(relative.Path) { // both start from the folder of the document
		to.Path, to.RawPath = path.Join(path.Dir(from.Path), relative.Path), ""
	}
	to.OmitHost = from.OmitHost // catalog:/functions, in the same spelling
	return to.String()
}

// Source returns the text that contains a pointer: the document, or a function that it was compiled with.
func (p *Program) Source(at dsl.Pointer) *dsl.Source {
	if function, _, remote := at.RemoteFunction(); remote && p.texts[function] != nil {
		return p.texts[function]
	}
	return p.Workflow.Source
}

// refuseSecrets reports that the task of a remote function reads a secret. A caller passes a remote function all the values that the function may
// know.
func (b *Builder) refuseSecrets(names []string) {
	if b.c.base == "" {
		return
	}
	what := "secrets"
	if len(names) > 0 {
		what = "the secret " + strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
	}
	b.c.report("SW802", b.node.task.Base().Pointer, "a function from elsewhere cannot read "+what+" of the workflow that calls it", "pass the values that it needs in `with`")
}
