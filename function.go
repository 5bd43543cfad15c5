package swrun

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/tasks"
)

// Function is a function of the default catalog, to be deployed into a store, with all findings about it. LoadFunction and ParseFunction make one.
type Function struct {
	Name string // name:version
	File string // of its text, for messages
	Text []byte // the definition of a task, as in the function.yaml of a catalog
	// Files are its text, as function.yaml, and the files of its relative references, by the names below its folder.
	Files       map[string][]byte
	Diagnostics dsl.Diagnostics // errors, warnings and hints
}

// LoadFunction reads a function from a file, with the files to which it refers, and checks it alone: its references to catalogs and URLs are read
// when a workflow that calls it is loaded. Its files must be below the folder of the file. A name that is not name:version is a *FunctionNameError. A
// function with errors is returned together with them: the error is a dsl.Diagnostics.
func LoadFunction(named, file string) (*Function, error) {
	text, err := readDocument(file)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return newFunction(named, file, text, func(name string) ([]byte, error) { return tasks.ReadWithin(root, name) })
}

// ParseFunction is LoadFunction for a text. files are the files to which it may refer, by their names below its folder.
func ParseFunction(named string, text []byte, files map[string][]byte) (*Function, error) {
	return newFunction(named, function.File, text, func(name string) ([]byte, error) {
		data, ok := files[name]
		if !ok {
			return nil, errors.New("it is not among the files of the function")
		}
		return data, nil
	})
}

func newFunction(named, file string, text []byte, read func(name string) ([]byte, error)) (*Function, error) {
	if err := CheckFunctionName(named); err != nil {
		return nil, err
	}
	e, err := Host{}.environment(0, nil)
	if err != nil {
		return nil, err
	}
	defer e.close()
	f := &Function{Name: named, File: file, Text: text, Files: map[string][]byte{function.File: text}}
	load := tasks.FunctionLoader(named, func(name string) ([]byte, error) {
		if data, ok := f.Files[name]; ok {
			return data, nil
		}
		data, err := read(name)
		if err != nil {
			return nil, err
		}
		f.Files[name] = data
		return data, function.Files(f.Files).Check() // checked here, so that no more is read
	})
	config := e.config(loading{load: load}, e.calls.orElsewhere())
	f.Diagnostics, _ = interpreter.CheckFunction(file, tasks.InDefaultCatalog(named), text, config)
	return f, f.Err()
}

// Check also reads the functions of catalogs and URLs that the function calls, as a workflow that calls the function does, and adds its findings to
// the diagnostics. It must not be called while the function is used elsewhere.
func (f *Function) Check(h Host) error {
	found, _, err := f.compile(h)
	if err != nil {
		return err
	}
	f.Diagnostics = joined(f.Diagnostics, found)
	return f.Err()
}

// Children returns the workflows that the function runs, each once, whether they exist or not. It is Document.Children for a function that no
// workflow calls yet. Tasks are pointers into the text of the function. Its errors are a dsl.Diagnostics.
func (f *Function) Children(h Host) ([]definition.Child, error) {
	found, runs, err := f.compile(h)
	if err == nil {
		err = found.Err()
	}
	if err != nil {
		return nil, err
	}
	return definition.ChildrenOfFunction(runs), nil
}

// compile compiles the function with the functions of catalogs and URLs that it calls.
func (f *Function) compile(h Host) (dsl.Diagnostics, []interpreter.WorkflowRun, error) {
	if err := f.Err(); err != nil {
		return nil, nil, err
	}
	e, err := h.environment(0, nil)
	if err != nil {
		return nil, nil, err
	}
	defer e.close()
	own := tasks.FunctionLoader(f.Name, func(name string) ([]byte, error) {
		data, ok := f.Files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	})
	others := tasks.Loader("function.yaml", tasks.Sources{Transport: e.transport, Catalog: h.Catalog, Functions: h.Functions})
	load := func(ctx context.Context, uri string) (interpreter.Resource, error) {
		found, err := own(ctx, uri)
		if errors.Is(err, interpreter.ErrNotFetched) {
			return others(ctx, uri)
		}
		return found, err
	}
	found, runs := interpreter.CheckFunction(f.File, tasks.InDefaultCatalog(f.Name), f.Text, e.config(loading{load: load}, e.calls.orElsewhere()))
	return found, runs, nil
}

// Err returns the errors among the diagnostics as a dsl.Diagnostics, or nil. It returns an *OptionError for a function that was made by neither
// LoadFunction nor ParseFunction.
func (f *Function) Err() error {
	if f == nil || f.Files == nil {
		return &OptionError{"function", "is missing: read one with LoadFunction or ParseFunction"}
	}
	if errs := f.Diagnostics.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// FunctionNameError is the error of a name that no function of the default catalog can have.
type FunctionNameError struct{ Name, Detail string }

func (e *FunctionNameError) Error() string {
	return fmt.Sprintf("%s names no function: %s", shorten.Quoted(e.Name), e.Detail)
}

// CheckFunctionName returns a *FunctionNameError unless the name has the form name:version of a deployed function.
func CheckFunctionName(named string) error {
	switch {
	case len(named) > store.MaxRegistryKey:
		return &FunctionNameError{named, fmt.Sprintf("it has %d bytes, and at most %d are allowed", len(named), store.MaxRegistryKey)}
	case !tasks.IsFunctionOfCatalog(named):
		return &FunctionNameError{named, "it must be name:version with a version such as 1.0.0"}
	case slices.Contains(dsl.CallProtocols(), named+"@default"):
		return &FunctionNameError{named, "swrun itself performs " + named + "@default"}
	}
	return nil
}

// FunctionDeployedError is the error of a name and version under which another function is deployed.
type FunctionDeployedError struct {
	Function string // name:version
	err      error
}

func (e *FunctionDeployedError) Error() string {
	return "another function is deployed as " + e.Function + ": give the function a new version"
}

// Unwrap returns the store's refusal.
func (e *FunctionDeployedError) Unwrap() error { return e.err }

// Functions returns the deployed functions in the store of the engine. Documents of every namespace that the engine deploys or starts may call them,
// unless Host.Catalog has a function of the same name and version.
func (e *Engine) Functions() *function.Functions { return e.functions }

// DeployFunction stores a function, so that documents which are deployed afterwards may call it as name:version@default. A deployed function never
// changes: another function of the same name and version is a *FunctionDeployedError. If the same function is already deployed, again is true.
func (e *Engine) DeployFunction(ctx context.Context, f *Function) (d function.Deployed, again bool, err error) {
	if err := f.Err(); err != nil {
		return d, false, err
	}
	if err := definition.GrantedIn(ctx).CheckAll(); err != nil {
		return d, false, err
	}
	d, again, err = e.functions.Deploy(ctx, f.Name, f.Files, client.Actor(ctx))
	if store.RefusedAs(err) == store.Conflict {
		err = &FunctionDeployedError{f.Name, err}
	}
	return d, again, err
}

// Check is Document.Check for the calls that the engine allows: performers in Go, and functions of the default catalog. Nothing is fetched.
func (e *Engine) Check(d *Document) error {
	h := e.env.host
	return d.Check(CheckConfig{Host: Host{Calls: h.Calls, Catalog: h.Catalog, Functions: h.Functions}})
}
