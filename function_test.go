package swrun_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/runtime/store"
)

// mustFunction returns a function without errors.
func mustFunction(t *testing.T, named, text string, files map[string][]byte) *swrun.Function {
	t.Helper()
	f, err := swrun.ParseFunction(named, []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// calling returns a document that calls a function.
func calling(version, function string) *swrun.Document {
	d, _ := swrun.Parse("", []byte(fmt.Sprintf(`
document: {dsl: 1.0.3, namespace: demo, name: calling, version: %s}
do: [{call: {call: '%s', with: {name: Ada}}}]`, version, function)))
	return d
}

// TestDeployedFunctionsAreFrozen: a deployed workflow keeps the functions that it was deployed with, even if they are removed. A function that is
// deployed while engines work is available to workflows that are deployed later.
func TestDeployedFunctionsAreFrozen(t *testing.T) {
	const greet = "input: {schema: {resource: {endpoint: schema.json}}}\nset: '${ \"%s, \" + .name + \"!\" }'\n"
	files := map[string][]byte{"schema.json": []byte(`{"required": ["name"]}`)}
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := mustWork(t, url, 1)[0]
			ctx := t.Context()
			ends := func(version string) string {
				t.Helper()
				run, err := e.Start(ctx, "demo/calling:"+version, nil, swrun.StartOptions{})
				if err != nil {
					t.Fatal(err)
				}
				result, err := run.Await(ctx)
				return fmt.Sprint(result.Output, err)
			}
			if err := e.Deploy(ctx, calling("1.0.0", "greet:1.0.0@default")); err == nil || !strings.Contains(err.Error(), "no function greet:1.0.0 is deployed") {
				t.Errorf("before the function: %v", err)
			}
			deploy := func(text string) {
				t.Helper()
				if _, again, err := e.DeployFunction(ctx, mustFunction(t, "greet:1.0.0", fmt.Sprintf(greet, text), files)); again || err != nil {
					t.Errorf("deployed: %t, %v", again, err)
				}
			}
			deploy("Hello")
			for version, called := range map[string]string{"1.0.0": "greet:1.0.0@default", "1.1.0": "greet:1.0.0"} {
				if err := e.Deploy(ctx, calling(version, called)); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.Functions().Remove(ctx, "greet:1.0.0"); err != nil {
				t.Error(err)
			}
			deploy("Good day")
			if err := e.Deploy(ctx, calling("1.2.0", "greet:1.0.0")); err != nil {
				t.Error(err)
			}
			if err := e.Deploy(ctx, calling("1.0.0", "greet:1.0.0")); !errors.As(err, new(*swrun.DeployedError)) {
				t.Errorf("with another function, the document is the same: %v", err)
			}
			for version, want := range map[string]string{"1.0.0": "Hello", "1.1.0": "Hello", "1.2.0": "Good day"} {
				if got := ends(version); got != want+", Ada!<nil>" {
					t.Errorf("%s: %s", version, got)
				}
			}
			wrong, _ := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: demo, name: wrong, version: 1.0.0}\ndo: [{call: {call: 'greet:1.0.0'}}]"))
			run, err := e.StartDocument(ctx, wrong, nil, swrun.StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = run.Await(ctx); err == nil || !strings.Contains(err.Error(), "does not fit its schema") {
				t.Errorf("without arguments: %v", err)
			}
		})
	}
}

// ends runs a document on an engine, and returns its output, or the error of its start.
func ends(t *testing.T, e *swrun.Engine, d *swrun.Document) string {
	t.Helper()
	run, err := e.StartDocument(t.Context(), d, nil, swrun.StartOptions{})
	if err != nil {
		return err.Error()
	}
	working, stop := context.WithCancel(t.Context())
	worked := make(chan error)
	go func() { worked <- e.WorkOn(working, run) }()
	result, err := run.Await(t.Context())
	stop()
	<-worked // its error is only of interest to the next worker of the store
	return fmt.Sprint(result.Output, err)
}

// TestWhoseFunctionIsCalled: a performer in Go comes first, then the default catalog of the host, then the deployed functions.
func TestWhoseFunctionIsCalled(t *testing.T) {
	catalog := t.TempDir()
	at := filepath.Join(catalog, "functions", "greet", "1.0.0")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, function.File), []byte(`set: '${ "of the catalog" }'`), 0o600); err != nil {
		t.Fatal(err)
	}
	performers := map[string]swrun.Performer{
		"greet:1.0.0@default": func(context.Context, swrun.Call) (any, error) { return "of the program", nil },
	}
	for _, c := range []struct {
		host         swrun.Host
		called, want string
	}{
		{swrun.Host{}, "greet:1.0.0@default", "of the store"},
		{swrun.Host{}, "greet:1.0.0", "of the store"},
		{swrun.Host{Catalog: catalog}, "greet:1.0.0@default", "of the catalog"},
		{swrun.Host{Catalog: catalog}, "greet:1.0.0", "of the catalog"},
		{swrun.Host{Catalog: catalog}, "other:1.0.0@default", "of the store"},
		{swrun.Host{Catalog: catalog}, "none:1.0.0@default", "and the default catalog " + catalog + " does not have it"},
		{swrun.Host{Calls: performers, Catalog: catalog}, "greet:1.0.0@default", "of the program"},
		{swrun.Host{Calls: performers}, "other:1.0.0@default", "of the store"},
		{swrun.Host{Calls: performers}, "none:1.0.0@default", "no performer is registered for `none:1.0.0@default`; registered: greet:1.0.0@default"},
		{swrun.Host{}, "damaged:1.0.0@default", "the function damaged:1.0.0 is damaged in the store"},
		{swrun.Host{Calls: performers}, "damaged:1.0.0@default", "the function damaged:1.0.0 is damaged in the store"},
	} {
		s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		e, err := swrun.NewEngine(s, swrun.EngineConfig{Host: c.host})
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range []string{"greet:1.0.0", "other:1.0.0"} {
			if _, _, err := e.DeployFunction(t.Context(), mustFunction(t, named, `set: '${ "of the store" }'`, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryFunctions, Key: "damaged:1.0.0", Value: []byte("1 {}")}); err != nil {
			t.Fatal(err)
		}
		got := ends(t, e, calling("1.0.0", c.called))
		if !strings.Contains(got, c.want) {
			t.Errorf("%s with %+v: got %s, want %s", c.called, c.host, got, c.want)
		}
	}
}

// TestFunctionsThatAreNotThere: a store that does not answer is not an error of the document.
func TestFunctionsThatAreNotThere(t *testing.T) {
	for _, c := range []struct {
		err   error
		found bool
	}{
		{&function.UnavailableError{Function: "greet:1.0.0", Err: errors.New("no answer")}, false}, {fs.ErrNotExist, true}, {&function.DamagedError{Function: "greet:1.0.0", Err: errors.New("cut")}, true},
	} {
		h := swrun.Host{Functions: func(context.Context, string) (map[string][]byte, error) { return nil, c.err }}
		_, err := calling("1.0.0", "greet:1.0.0").WithResources(h)
		if errors.As(err, new(dsl.Diagnostics)) != c.found || !c.found && !errors.Is(err, c.err) {
			t.Errorf("%v becomes %v", c.err, err)
		}
	}
}

// TestFunctions: mistakes in a function and its references are found before it is deployed.
func TestFunctions(t *testing.T) {
	files := map[string][]byte{
		"schema.json": []byte(`{"type": "object"}`), "deep/er/hello.js": []byte("console.log(1)"), "../outside.json": []byte("1 {}"), "large.json": make([]byte, function.MaxSize),
	}
	script := func(at string) string { return "run: {script: {language: js, source: {endpoint: '" + at + "'}}}" }
	schema := func(at string) string { return "input: {schema: {resource: {endpoint: '" + at + "'}}}\nset: {a: 1}" }
	for _, c := range []struct{ name, text, want string }{
		{"f:1.0.0", "set: {a: 1}", "function.yaml"},
		{"f:1.0.0-rc.1+b", `{"set": {"a": 1}}`, "function.yaml"},
		{"f:1.0.0", "\ufeffset: {a: 1}", "function.yaml"},
		{"f:1.0.0", schema("schema.json"), "function.yaml schema.json"},
		{"f:1.0.0", schema("./x/../schema.json"), "function.yaml schema.json"},
		{"f:1.0.0", script("deep/er/hello.js"), "deep/er/hello.js function.yaml"},
		{"f:1.0.0", script("https://example.com/hello.js"), "function.yaml"},
		{"f:1.0.0", "do: [{self: {call: 'f:1.0.0'}}, {also: {call: 'f:1.0.0@default'}}]", "function.yaml"},
		{"f:1.0.0", "do: [{other: {call: 'g:1.0.0'}}, {also: {call: 'g:1.0.0@default'}}, {performed: {call: charge@default}}]", "function.yaml"},

		{"f:1.0.0", script("nothing.js"), "cannot read nothing.js: it is not among the files of the function"},
		{"f:1.0.0", script("../outside.json"), "cannot read ../outside.json: a function that is deployed refers to files below its own folder"},
		{"f:1.0.0", script("/etc/passwd"), "cannot read /etc/passwd: a function that is deployed refers to files below its own folder"},
		{"f:1.0.0", script("file:///etc/passwd"), "cannot read file:///etc/passwd: a function that is deployed"},
		{"f:1.0.0", script("../../g/1.0.0/hello.js"), "cannot read ../../g/1.0.0/hello.js: a function that is deployed"},
		{"f:1.0.0", "run: {script: {language: js, source: {endpoint: {uri: deep/er/hello.js, authentication: {bearer: {token: t}}}}}}", "deep/er/hello.js is a file of the default catalog, which is read with its function"},
		{"f:1.0.0", schema("large.json"), "the function and the files that it refers to have"},
		{"f:1.0.0", "set: '${ $secrets.shop }'", "a function from elsewhere cannot read the secret shop"},
		{"f:1.0.0", "set: '${ . | }'", "jq: "},
		{"f:1.0.0", "do: [{a: {call: nothing}}]", "nothing"},
		{"f:1.0.0", "", "the document is empty"},
		{"f:1.0.0", " \n \n", "empty"},
		{"f:1.0.0", "null", "must be an object, got nothing"},
		{"f:1.0.0", "[1]", "must be an object, got a list"},
		{"f:1.0.0", "{}", "has no keyword"},
		{"f:1.0.0", "\x89PNG\xff", "not UTF-8"},
		{"f:1.0.0", strings.Repeat("#", 300_000), "more than 262144 bytes"},
		{"f:1.0.0", "set: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "deep"},
		{"f:1.0.0", "document: {dsl: 1.0.3, namespace: a, name: b, version: 1.0.0}\ndo: []", "document"},

		{"", "set: {a: 1}", `"" names no function: it must be name:version`},
		{"f", "set: {a: 1}", "names no function"},
		{"f:1", "set: {a: 1}", "names no function"},
		{"f:v1.0.0", "set: {a: 1}", "names no function"},
		{"f:latest", "set: {a: 1}", "names no function"},
		{"../x:1.0.0", "set: {a: 1}", "names no function"},
		{"f:1.0.0@default", "set: {a: 1}", "names no function"},
		{"f :1.0.0", "set: {a: 1}", "names no function"},
		{"activity:1.0.0", "set: {a: 1}", "swrun itself performs activity:1.0.0@default"},
		{"activity:2.0.0", "set: {a: 1}", "function.yaml"},
		{strings.Repeat("f", 300) + ":1.0.0", "set: {a: 1}", "at most 256 are allowed"},
	} {
		f, err := swrun.ParseFunction(c.name, []byte(c.text), files)
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(slices.Sorted(maps.Keys(f.Files)), " ")
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%.40q %.60q: got %s, want %s", c.name, c.text, got, c.want)
		}
	}
}
