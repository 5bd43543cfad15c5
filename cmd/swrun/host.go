package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/process"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/tasks"
)

// This file makes documents into definitions, and definitions into programs.

// host is what the tasks of a hosted workflow may use.
type host struct {
	secrets   interpreter.Secrets
	transport http.RoundTripper
	processes *process.Pool // nil if they are not granted
	js        string
	limits    limits.Set
	files     bool // resources whose location only a run knows may be files
}

// compile makes a definition ready to run: with its own resources, and nothing else that could change.
func (h host) compile(d definition.Definition) (*interpreter.Program, error) {
	w, found := dsl.Parse(d.Name(), []byte(d.Document))
	if err := found.Err(); err != nil {
		return nil, err
	}
	frozen := func(_ context.Context, uri string) ([]byte, error) {
		if data, ok := d.Resources[uri]; ok {
			return data, nil
		}
		return nil, errors.New("it is not among the resources of the definition; deploy the document again")
	}
	transport := h.transport
	if transport == nil {
		transport = tasks.NewTransport(tasks.TransportConfig{})
	}
	p, found := interpreter.Compile(w, interpreter.Config{
		Kinds: tasks.All(tasks.Config{
			Transport: transport, Secrets: h.secrets, Load: tasks.Loader("definition", transport, h.files), Processes: h.processes, JS: h.js,
		}),
		Secrets: h.secrets, Load: frozen, Limits: h.limits, Runtime: runtimeDescriptor(),
	})
	return p, found.Err()
}

// definition makes a document a definition: every resource that it is compiled with is read, once, and kept.
func (d *document) definition() (definition.Definition, error) {
	made := definition.Definition{Document: string(d.text), Resources: map[string][]byte{}}
	if d.file != stdinName {
		made.File = filepath.Base(d.file)
	}
	config := compileConfig(d.file, tasks.Config{})
	read := config.Load
	config.Load = func(ctx context.Context, uri string) ([]byte, error) {
		data, err := read(ctx, uri)
		if err == nil {
			made.Resources[uri] = data
		}
		return data, err
	}
	_, found := interpreter.Compile(d.workflow, config)
	d.add(found)
	return made, d.refused()
}

// siblings returns the definitions of the workflows that d's tasks run, and those run in turn, as far as they are
// found beside d.
func (d *document) siblings(l *library) ([]definition.Definition, error) {
	var all []definition.Definition
	seen := map[string]bool{}
	open := []*document{d}
	for len(open) > 0 {
		at := open[0]
		open = open[1:]
		for _, name := range definition.Children(at.workflow) {
			b := l.named(name)
			if b == nil || seen[b.file] {
				continue
			}
			seen[b.file] = true
			if _, fault := l.open(b); fault != nil {
				return nil, fmt.Errorf("%s", fault.Detail)
			}
			definition, err := b.document.definition()
			if err != nil {
				return nil, err
			}
			all = append(all, definition)
			open = append(open, b.document)
		}
	}
	return all, nil
}

// named returns the book that a reference means, or nil.
func (l *library) named(r definition.Reference) *book {
	b := l.choose(r.Namespace, r.Name, r.Version)
	if b == nil || r.Version == definition.Latest {
		l.readFolder()
		b = l.choose(r.Namespace, r.Name, r.Version)
	}
	return b
}
