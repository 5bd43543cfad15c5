package swrun_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Load a document, run it, and use its output.
func Example() {
	quote, err := swrun.Load("examples/quote.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := quote.Run(context.Background(), nil, swrun.RunConfig{VirtualTime: true})
	fmt.Println(result.Output, err)
	// Output:
	// map[because:Timeout price:42 source:cache] <nil>
}

// The errors of a document are diagnostics: where they stand, and what to do.
func ExampleLoad() {
	_, err := swrun.Load("examples/mistakes/checkout.yaml")
	var found dsl.Diagnostics
	if errors.As(err, &found) {
		for _, d := range found {
			fmt.Printf("%s:%d %s: %s\n", filepath.Base(d.File), d.Range.Start.Line, d.Code, d.Message)
		}
	}
	// Output:
	// checkout.yaml:13 SW110: `second` is not a duration unit
	// checkout.yaml:20 SW201: `then: shipp` names no task in this list
}

// hello greets whom its input names.
const hello = `
document: {dsl: 1.0.3, namespace: demo, name: hello, version: 1.0.0}
do:
  - greet: {set: {message: '${ "Hello, " + .name + "!" }', letters: '${ .name | length }'}}
`

func ExampleParse() {
	document, err := swrun.Parse("hello.yaml", []byte(hello))
	fmt.Println(document, document.Workflow.Do[0].Base().Name, err)
	// Output:
	// demo/hello:1.0.0 greet <nil>
}

// Input and output are Go values.
func ExampleDocument_Run() {
	document, _ := swrun.Parse("", []byte(hello))
	input := struct {
		Name string `json:"name"`
	}{"Ada"}
	result, err := document.Run(context.Background(), input, swrun.RunConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var greeting struct {
		Message string
		Letters int
	}
	err = result.Decode(&greeting)
	fmt.Println(greeting.Message, greeting.Letters, err)
	// Output:
	// Hello, Ada! 3 <nil>
}

// A workflow that sleeps for thirty days ends in milliseconds of virtual time.
func ExampleRunConfig() {
	document, _ := swrun.Load("examples/thirty_days.yaml")
	result, err := document.Run(context.Background(), nil, swrun.RunConfig{
		VirtualTime: true,
		Now:         func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
		Observe: func(e interpreter.HistoryEvent) {
			if e.Type == interpreter.TaskWaiting {
				fmt.Println(e.Pointer, "waits until", e.Until.Format(time.DateOnly))
			}
		},
	})
	fmt.Println(result.Status, result.EndedAt.Sub(result.StartedAt), err)
	// Output:
	// /do/0/rest waits until 2026-01-31
	// completed 720h0m0s <nil>
}

// What no catch has taken is an *errors.Error: RFC 9457 with the task as its instance.
func ExampleResult_Err() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: slow, version: 1.0.0}
do:
  - nap: {wait: PT1H, timeout: {after: PT1S}}
`))
	result, err := document.Run(context.Background(), nil, swrun.RunConfig{VirtualTime: true})
	var fault *errors.Error
	fmt.Println(errors.As(err, &fault), result.Err() == err, result.TimedOut)
	fmt.Println(fault.Status, fault.Title, fault.Instance)
	// Output:
	// true true true
	// 408 Timeout /do/0/nap
}

// An input that is no JSON says which part of it is none.
func ExampleInputError() {
	document, _ := swrun.Parse("", []byte(hello))
	_, err := document.Run(context.Background(), map[string]any{"names": []any{"Ada", make(chan int)}}, swrun.RunConfig{})
	var wrong *swrun.InputError
	fmt.Println(errors.As(err, &wrong), wrong.Pointer)
	// Output:
	// true /names/1
}

// payment charges a card by a function of the default catalog, which is what this program offers.
const payment = `
document: {dsl: 1.0.3, namespace: demo, name: payment, version: 1.0.0}
do:
  - charge:
      try:
        - card: {call: charge@default, with: {amount: '${ .amount }'}}
      catch:
        errors: {with: {status: 402}}
        do:
          - decline: {set: {paid: false}}
`

// charge refuses large amounts.
func charge(_ context.Context, c swrun.Call) (any, error) {
	var card struct{ Amount int }
	if err := c.Decode(&card); err != nil {
		return nil, err
	}
	if card.Amount > 100 {
		return nil, &errors.Error{Type: errors.Runtime, Status: 402, Title: "Declined"}
	}
	return map[string]any{"paid": true}, nil
}

// A `call` task may be performed in Go.
func ExamplePerformer() {
	document, _ := swrun.Parse("", []byte(payment))
	host := swrun.Host{Calls: map[string]swrun.Performer{"charge@default": charge}}
	for _, amount := range []int{30, 3000} {
		result, err := document.Run(context.Background(), map[string]int{"amount": amount}, swrun.RunConfig{Host: host})
		fmt.Println(result.Output, err)
	}
	// Output:
	// map[paid:true] <nil>
	// map[paid:false] <nil>
}

// A protocol too: tests of a workflow need no server.
func ExampleHost() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: pet, version: 1.0.0}
do:
  - get: {call: http, with: {method: get, endpoint: 'https://pets.example/7'}}
`))
	stub := func(_ context.Context, c swrun.Call) (any, error) {
		return fmt.Sprint(c.Name, " ", c.With["method"], " ", c.With["endpoint"]), nil
	}
	result, err := document.Run(context.Background(), nil, swrun.RunConfig{Host: swrun.Host{Calls: map[string]swrun.Performer{"http": stub}}})
	fmt.Println(result.Output, err)
	// Output:
	// http get https://pets.example/7 <nil>
}

// Secrets are given by name; what the workflow returns has them hidden.
func ExampleNewSecrets() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: token, version: 1.0.0}
use: {secrets: [token]}
do:
  - use: {set: {length: '${ $secrets.token | length }', header: '${ "Bearer " + $secrets.token }'}}
`))
	secrets := swrun.NewSecrets(map[string]any{"token": "k-7f3Q9w"}, os.LookupEnv)
	result, err := document.Run(context.Background(), nil, swrun.RunConfig{Host: swrun.Host{Secrets: secrets.Lookup}})
	fmt.Println(result.Output, err)
	fmt.Println(secrets.Hide("the token is k-7f3Q9w"), secrets.Of(document.Workflow).Text("k-7f3Q9w"))
	// Output:
	// map[header:Bearer ‹redacted: token› length:8] <nil>
	// the token is ‹redacted: token› ‹redacted: token›
}

// Tasks that run other workflows find them beside the document, or among documents that are given.
func ExampleNewDocuments() {
	child, _ := swrun.Parse("", []byte(hello))
	parent, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: parent, version: 1.0.0}
do:
  - greet: {run: {workflow: {namespace: demo, name: hello, version: latest, input: {name: Ada}}}}
`))
	documents := swrun.NewDocuments(parent, child)
	result, err := parent.Run(context.Background(), nil, swrun.RunConfig{Documents: documents})
	fmt.Println(result.Output, err)
	reference, _ := definition.ParseReference("demo/hello")
	fmt.Println(documents.Workflow(reference).Document)
	// Output:
	// map[letters:3 message:Hello, Ada!] <nil>
	// demo/hello:1.0.0
}

// What is wrong with a document for this program shows before it runs.
func ExampleDocument_Check() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: event, version: 1.0.0}
do:
  - order: {listen: {to: {one: {with: {type: order.placed}}}}}
`))
	fmt.Println(document.Err())
	fmt.Println(document.Check(context.Background(), swrun.Host{}, false))
	// Output:
	// <nil>
	// document:4:12: error[SW801]: running `listen` tasks is not supported yet
}

// Commands and scripts of workflows run below supervisors; processes is what Supervise has returned in this program's main.
func ExampleSupervise() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: shell, version: 1.0.0}
do:
  - say: {run: {shell: {command: 'echo hello'}}}
`))
	result, err := document.Run(context.Background(), nil, swrun.RunConfig{Host: swrun.Host{Processes: processes}})
	fmt.Println(result.Output, err)

	_, err = document.Run(context.Background(), nil, swrun.RunConfig{})
	fmt.Println(errors.AsError(err).Detail)
	// Output:
	// hello <nil>
	// running processes is not granted here; a worker grants it with --allow-processes, a Go program with Supervise and Host.Processes
}

// A run in a store goes on wherever an engine works on the store, whatever has been killed meanwhile.
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

// nap sleeps for a day, for an hour at most.
const nap = `
document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}
do:
  - sleep: {wait: P1D, timeout: {after: PT1H}}
`

// Whoever has the store commands its runs, and awaits them.
func ExampleRun() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("nap.yaml", []byte(nap))
	run, _ := engine.StartDocument(ctx, document, nil, nil, swrun.StartOptions{ID: "nap-1"})
	fmt.Println(run.Suspend(ctx, "a break"), run.Resume(ctx, ""), run.Cancel(ctx, "enough"))
	fmt.Println(store.RefusedAs(run.Retry(ctx))) // it is for runs that are quarantined

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
	// cancelled the run was cancelled
	// <nil>
	// workflow.cancelled <nil> <nil>
}

// What a run waits for, until when, and what happens then.
func ExampleRun_Describe() {
	ctx := context.Background()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("nap.yaml", []byte(nap))
	run, _ := engine.StartDocument(ctx, document, nil, nil, swrun.StartOptions{})
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
	fmt.Println(store.Close())
	// Output:
	// true is no kind of store
	// true true <nil>
	// <nil>
}

// A configuration that cannot be is an *OptionError.
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
	// another document is deployed as demo/hello:1.0.0: give the document a new version
	// <nil>
	// true demo/hello-1
}

// The client of an engine looks after many runs.
func ExampleEngine_Client() {
	ctx := context.Background()
	engine, closeStore := openEngine()
	defer closeStore()
	document, _ := swrun.Parse("", []byte(hello))
	for _, id := range []string{"a", "b"} {
		_, err := engine.StartDocument(ctx, document, nil, nil, swrun.StartOptions{ID: id, Delay: time.Hour})
		fmt.Println(err)
	}
	n := 0
	err := engine.Client().List(ctx, client.Filter{Workflow: "demo/hello"}, func(client.Found) bool { n++; return true })
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
