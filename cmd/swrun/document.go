package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/tasks"
)

// document is a workflow document with all that was found about it.
type document struct {
	file        string
	text        []byte
	workflow    *dsl.Workflow
	diagnostics dsl.Diagnostics
}

// stdinName is how a document from standard input is called in messages.
const stdinName = "<stdin>"

func readDocument(s streams, name string) (string, []byte, error) {
	if name == "-" {
		text, err := readStdin(s, "the document -", bound{bytes: maxDocument})
		return stdinName, text, err
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return name, nil, usagef("name a file, for example "+filepath.Join(name, "workflow.yaml"), "%s is a folder", name)
	}
	text, err := readFile("the document", name, bound{bytes: maxDocument})
	return name, text, err
}

// checkDocument reads a document and finds out all that is wrong with it, as far as that needs no secrets, and no
// network unless fetch is set.
func checkDocument(s streams, name string, fetch bool) (*document, error) {
	file, text, err := readDocument(s, name)
	if err != nil {
		return nil, err
	}
	d := parseText(file, text)
	if d.diagnostics.Err() == nil {
		config := compileConfig(file, tasks.Config{})
		if !fetch {
			config.Load = tasks.Loader(baseFile(file), nil, true)
		}
		_, found := interpreter.Compile(d.workflow, config)
		d.add(found)
	}
	return d, nil
}

// parseText does what needs neither configuration nor files: the form and the rules.
func parseText(file string, text []byte) *document {
	d := &document{file: file, text: text}
	d.workflow, d.diagnostics = dsl.Parse(file, text)
	d.add(interpreter.Check(d.workflow))
	return d
}

// add joins what several passes found; a finding that two of them report is told once.
func (d *document) add(found dsl.Diagnostics) {
	for _, f := range found {
		known := slices.ContainsFunc(d.diagnostics, func(k dsl.Diagnostic) bool {
			return k.Code == f.Code && k.Pointer == f.Pointer && k.Range.Start == f.Range.Start
		})
		if !known {
			d.diagnostics = append(d.diagnostics, f)
		}
	}
	d.diagnostics.Sort()
}

// compileConfig is how programs are made here: a file on the command line is trusted, as a shell script is.
func compileConfig(file string, c tasks.Config) interpreter.Config {
	c.Transport = tasks.NewTransport(tasks.TransportConfig{})
	c.Load = tasks.Loader(baseFile(file), c.Transport, true)
	return interpreter.Config{
		Kinds:   tasks.All(c),
		Secrets: c.Secrets, Load: c.Load,
		Runtime: runtimeDescriptor(),
	}
}

// runtimeDescriptor is $runtime.
func runtimeDescriptor() map[string]any {
	return map[string]any{"name": "swrun", "version": programVersion(), "metadata": map[string]any{}}
}

// baseFile is what relative references in a document start from.
func baseFile(file string) string {
	if file == stdinName {
		return "stdin.yaml"
	}
	return file
}

// visible returns the diagnostics down to a severity, and how many there are below.
func (d *document) visible(lowest dsl.Severity) (dsl.Diagnostics, int) {
	shown := slices.DeleteFunc(slices.Clone(d.diagnostics), func(x dsl.Diagnostic) bool { return x.Severity > lowest })
	return shown, len(d.diagnostics) - len(shown)
}

func (d *document) title() string {
	return terminal.Printable(d.workflow.Document.String())
}
