package swrun_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// A run in a store continues in any process whose engine works on the store, even if other processes were killed.
func ExampleEngine() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	store, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{}) // file:runs.db and redis://localhost:6379 keep runs
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	engine, _ := swrun.NewEngine(store, swrun.EngineConfig{})
	worked := make(chan error)
	go func() { worked <- engine.Work(ctx) }()

	document, _ := swrun.Parse("hello.yaml", []byte(hello))
	fmt.Println(engine.Deploy(ctx, document))
	run, err := engine.Start(ctx, "demo/hello", map[string]string{"name": "Ada"}, swrun.StartOptions{ID: "hello-1"})
	fmt.Println(run, err)
	result, err := run.Await(ctx)
	fmt.Println(result.Status, result.Output, err)

	stop()
	fmt.Println(<-worked)
	// Output:
	// <nil>
	// demo/hello-1 <nil>
	// completed map[letters:3 message:Hello, Ada!] <nil>
	// <nil>
}

// openEngine returns an engine on a new store in memory.
func openEngine() (*swrun.Engine, func()) {
	store, err := swrun.OpenStore(context.Background(), "memory:", swrun.StoreConfig{})
	if err != nil {
		panic(err)
	}
	engine, err := swrun.NewEngine(store, swrun.EngineConfig{})
	if err != nil {
		panic(err)
	}
	return engine, func() { store.Close() }
}

// nap sleeps for a day, but its timeout is one hour.
const nap = `
document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}
do:
  - sleep: {wait: P1D, timeout: {after: PT1H}}
`

// Every process that can open the store commands its runs, and awaits them.
func ExampleRun() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("nap.yaml", []byte(nap))
	run, _ := engine.StartDocument(ctx, document, nil, swrun.StartOptions{ID: "nap-1"})
	fmt.Println(run.Suspend(ctx, "a break"), run.Resume(ctx, ""), run.Cancel(ctx, "enough"))
	fmt.Println(store.RefusedAs(run.Retry(ctx, ""))) // only quarantined runs can be retried
	_, err := run.SetDeadline(ctx, client.DeadlineChange{By: time.Hour})
	fmt.Println(store.RefusedAs(err)) // no worker has claimed it yet
	_, err = run.Fork(ctx, client.ForkOptions{})
	fmt.Println(store.RefusedAs(err)) // it did not fail

	next, _ := swrun.Parse("nap.yaml", []byte(strings.Replace(nap, "1.0.0", "1.1.0", 1)))
	found, err := engine.CheckRuns(ctx, next)
	fmt.Println(found.Runs, found.Ready, err)
	_, err = run.Migrate(ctx, client.Migration{To: "1.1.0"})
	fmt.Println(store.RefusedAs(err)) // the workflow is not deployed

	working, leave := context.WithCancel(ctx)
	worked := make(chan error)
	go func() { worked <- engine.WorkOn(working, run) }()
	same := engine.Run("demo", "nap-1")
	result, err := same.Await(ctx)
	fmt.Println(result.Status, err)
	leave()
	fmt.Println(<-worked)

	var last interpreter.HistoryEventType
	err = same.History(ctx, func(e client.HistoryEntry) error {
		last = e.Events[len(e.Events)-1].Type
		return nil
	})
	fmt.Println(last, err, same.Delete(ctx))
	// Output:
	// <nil> <nil> <nil>
	// CONFLICT
	// CONFLICT
	// CONFLICT
	// 1 0 <nil>
	// NO_SUCH
	// cancelled the run was cancelled: enough
	// <nil>
	// workflow.cancelled <nil> <nil>
}

// Describe returns the waits of a run, their deadlines, and the consequence of each deadline.
func ExampleRun_Describe() {
	ctx := context.Background()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("nap.yaml", []byte(nap))
	run, _ := engine.StartDocument(ctx, document, nil, swrun.StartOptions{})
	d, err := run.Describe(ctx)
	fmt.Println(d.Status, err)

	fmt.Println(run.Terminate(ctx, "nobody works on it"), engine.Settle(ctx, run))
	d, err = run.Describe(ctx)
	fmt.Println(d.Status, d.Reason, err)
	// Output:
	// pending <nil>
	// <nil> <nil>
	// cancelled nobody works on it <nil>
}

// A run is ended as soon as the runs that end with it are ordered to end. AwaitChildren waits for their end.
func ExampleRun_AwaitChildren() {
	ctx, stop := context.WithCancel(context.Background())
	engine, closeStore := openEngine()
	defer closeStore()
	child, _ := swrun.Parse("nap.yaml", []byte(nap))
	parent, _ := swrun.Parse("parent.yaml", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: parent, version: 1.0.0}
do:
  - nap: {run: {workflow: {namespace: demo, name: nap, version: latest}, await: false}, metadata: {swrun: {parentClose: cancel}}}
  - pause: {wait: {milliseconds: 100}}
`))
	run, _ := engine.StartDocument(ctx, parent, nil, swrun.StartOptions{}, child)
	working := make(chan error)
	go func() { working <- engine.WorkOn(ctx, run) }()
	result, err := run.Await(ctx)
	fmt.Println(result.Status, err)
	fmt.Println(run.AwaitChildren(ctx, nil))
	stop()
	fmt.Println(<-working)
	// Output:
	// completed <nil>
	// [] <nil>
	// <nil>
}

// Errors of the library are typed.
func ExampleOpenStore() {
	ctx := context.Background()
	_, err := swrun.OpenStore(ctx, "postgres://localhost", swrun.StoreConfig{})
	var url *swrun.StoreURLError
	fmt.Println(errors.As(err, &url), url.Detail)

	folder, _ := os.MkdirTemp("", "swrun-example-")
	defer os.RemoveAll(folder)
	store, err := swrun.OpenStore(ctx, "file:"+filepath.Join(folder, "runs.db"), swrun.StoreConfig{})
	fmt.Println(strings.HasSuffix(store.URL(), "runs.db"), store.Local(), err)
	workers, err := store.Workers(ctx) // no worker works on it yet
	fmt.Println(len(workers), err)
	fmt.Println(store.Close())
	// Output:
	// true is not a kind of store
	// true true <nil>
	// 0 <nil>
	// <nil>
}

// An invalid option is an *OptionError.
func ExampleOptionError() {
	document, _ := swrun.Parse("", []byte(hello))
	_, err := document.Run(context.Background(), nil, swrun.RunConfig{Host: swrun.Host{Network: "everything"}})
	var option *swrun.OptionError
	fmt.Println(errors.As(err, &option), option.Option)
	// Output:
	// true Network
}

// A name and version is deployed once; an id names one run.
func ExampleEngine_Deploy() {
	ctx := context.Background()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("", []byte(hello))
	changed, _ := swrun.Parse("", []byte(strings.Replace(hello, "Hello", "Hi", 1)))
	fmt.Println(engine.Deploy(ctx, document))
	fmt.Println(engine.Deploy(ctx, changed))

	_, err := engine.Start(ctx, "demo/hello", nil, swrun.StartOptions{ID: "hello-1"})
	fmt.Println(err)
	_, err = engine.Start(ctx, "demo/hello", "another input", swrun.StartOptions{ID: "hello-1"})
	var exists *swrun.RunExistsError
	fmt.Println(errors.As(err, &exists), exists.Run)
	// Output:
	// <nil>
	// another document is deployed as demo/hello:1.0.0: change document.version
	// <nil>
	// true demo/hello-1
}

// A document with a schedule starts automatically while an engine works. In this example, no engine works.
func ExampleEngine_Schedules() {
	ctx := context.Background()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("", []byte(hello+"schedule: {every: PT1H}\n"))
	fmt.Println(engine.Deploy(ctx, document))
	found, err := engine.Schedules().Of(ctx, "demo", "hello")
	fmt.Println(found.Kinds(), found.Last == nil, err)

	fmt.Println(engine.Undeploy(ctx, found.Workflow))
	_, err = engine.Schedules().Of(ctx, "demo", "hello")
	fmt.Println(err)
	// Output:
	// <nil>
	// [every] true <nil>
	// <nil>
	// there is no schedule of the workflow demo/hello
}

// The client of an engine manages many runs.
func ExampleEngine_Client() {
	ctx := context.Background()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("", []byte(hello))
	for _, id := range []string{"a", "b"} {
		_, err := engine.StartDocument(ctx, document, nil, swrun.StartOptions{ID: id, Delay: time.Hour})
		fmt.Println(err)
	}
	n := 0
	where, err := filter.Parse("workflow=demo/hello", time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	err = engine.Client().Each(ctx, where, func(*filter.Run) bool { n++; return true })
	fmt.Println(n, err)
	// Output:
	// <nil>
	// <nil>
	// 2 <nil>
}

func ExampleVersion() {
	fmt.Println(len(swrun.Version()) > 0)
	// Output:
	// true
}

// StoreFile returns the file of a store, for example for a copy.
func ExampleStoreFile() {
	fmt.Println(swrun.StoreFile("file:runs.db"))
	fmt.Println(swrun.StoreFile("redis://localhost:6379"))
	// Output:
	// runs.db true
	//  false
}

// Documents of every namespace call the deployed functions. A deployed document keeps the functions that it was deployed with.
func ExampleEngine_DeployFunction() {
	ctx := context.Background()
	engine, closeStore := openEngine()
	defer closeStore()
	greet, err := swrun.LoadFunction("greet:1.0.0", "examples/catalog/functions/greet/1.0.0/function.yaml")
	fmt.Println(greet.Name, err)
	_, again, err := engine.DeployFunction(ctx, greet)
	fmt.Println(again, err)

	_, err = swrun.ParseFunction("log:1", nil, nil)
	fmt.Println(err)
	fmt.Println(swrun.CheckFunctionName("log:1.0.0"))
	broken, _ := swrun.ParseFunction("log:1.0.0", []byte("sett: {a: 1}"), nil)
	fmt.Println(broken.Err())
	other, _ := swrun.ParseFunction("greet:1.0.0", []byte("set: {text: Hi!}"), nil)
	_, _, err = engine.DeployFunction(ctx, other)
	fmt.Println(err)

	document, _ := swrun.Parse("caller.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, name: caller, version: 1.0.0}\ndo: [{greet: {call: 'greet:1.0.0', with: {name: Ada}}}]"))
	fmt.Println(engine.Check(document), engine.Deploy(ctx, document))
	fmt.Println(engine.Functions().Remove(ctx, "greet:1.0.0"))
	all, err := engine.Functions().All(ctx)
	fmt.Println(len(all), err)
	// Output:
	// greet:1.0.0 <nil>
	// false <nil>
	// "log:1" names no function: it must be name:version with a version such as 1.0.0
	// <nil>
	// function.yaml:1:1: error[SW115]: `sett` is not a keyword of a task
	// another function is deployed as greet:1.0.0: give the function a new version
	// <nil> <nil>
	// <nil>
	// 0 <nil>
}
