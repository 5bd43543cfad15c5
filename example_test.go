package swrun_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/matching"
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

// The errors of a document are diagnostics, each with its place and its remedy.
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

// hello greets the person in its input.
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

// An error that no catch handles is an *errors.Error: RFC 9457 with the task as its instance.
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

// The error of an input that is not JSON names the invalid part.
func ExampleInputError() {
	document, _ := swrun.Parse("", []byte(hello))
	_, err := document.Run(context.Background(), map[string]any{"names": []any{"Ada", make(chan int)}}, swrun.RunConfig{})
	var wrong *swrun.InputError
	fmt.Println(errors.As(err, &wrong), wrong.Pointer)
	// Output:
	// true /names/1
}

// payment charges a card by a function of the default catalog, which consists of the functions of this program.
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
func ExampleEngine_Figures() {
	ctx := context.Background()
	store, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{})
	if err != nil {
		panic(err)
	}
	engine, err := swrun.NewEngine(store, swrun.EngineConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Println(engine.Figures().Claimed.Load(), "runs were claimed")
	// Output: 0 runs were claimed
}

func ExampleEngine_Activities() {
	ctx, stop := context.WithCancel(context.Background())
	resize, err := swrun.Parse("resize.yaml", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: resize, version: 1.0.0}
do: [{picture: {call: 'activity:1.0.0@default', with: {type: resize, queue: images, timeouts: {startToClose: PT1M}}}}]
`))
	if err != nil {
		panic(err)
	}
	store, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{})
	if err != nil {
		panic(err)
	}
	engine, err := swrun.NewEngine(store, swrun.EngineConfig{})
	if err != nil {
		panic(err)
	}
	worked := make(chan error, 1)
	go func() { worked <- engine.Work(ctx) }()
	run, err := engine.StartDocument(ctx, resize, map[string]any{"width": 640}, swrun.StartOptions{})
	if err != nil {
		panic(err)
	}
	tasks, err := engine.Activities().Poll(ctx, matching.Poll{Queues: []string{"images"}, Limit: 1, Worker: "example"})
	if err != nil {
		panic(err)
	}
	fmt.Println(tasks[0].Activity.Type, tasks[0].Input.V)
	if err := engine.Activities().Complete(ctx, tasks[0].Token, "done"); err != nil {
		panic(err)
	}
	result, err := run.Await(ctx)
	fmt.Println(result.Output, err)
	stop()
	<-worked
	// Output:
	// resize map[width:640]
	// done <nil>
}

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

// A call of a protocol may be performed in Go, too: tests of a workflow need no server.
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

// Secrets are given by name. The output of the workflow does not show them.
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

// A secret may be restricted to some namespaces. It may be replaced while the program runs; the former value stays hidden.
func ExampleSecrets_Restrict() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: token, version: 1.0.0}
use: {secrets: [token]}
do:
  - use: {set: {length: '${ $secrets.token | length }'}}
`))
	secrets := swrun.NewSecrets(map[string]any{"token": "k-7f3Q9w"}, os.LookupEnv)
	secrets.Restrict("token", "shop")
	fmt.Println(secrets.Restricted("token"), secrets.Allows("shop", "token"), secrets.Allows("demo", "token"))
	fmt.Println(secrets.Replace(map[string]any{"token": "n-2b8X"}), len(secrets.Former("token")), secrets.Hide("k-7f3Q9w n-2b8X"))
	host := swrun.Host{Secrets: secrets.Lookup, FormerSecrets: secrets.Former, AllowSecret: secrets.Allows}
	_, err := document.Run(context.Background(), nil, swrun.RunConfig{Host: host})
	var fault *errors.Error
	fmt.Println(errors.As(err, &fault), fault.Title, fault.Status)
	// Output:
	// true true false
	// [token] 1 ‹redacted: token› ‹redacted: token›
	// true Not Authorized 403
}

// Tasks that run other workflows find them beside the document, or among the given documents.
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
	above, _ := definition.ParseReference("demo/parent")
	fmt.Println(documents.ChildrenOf(above)[0].Reference)
	fmt.Println(documents.StartedBy(above, "/do/0/greet"))
	// Output:
	// map[letters:3 message:Hello, Ada!] <nil>
	// demo/hello:1.0.0
	// demo/hello:latest
	// demo/hello:latest true
}

// A namespace, a name and a version identify one document. Deploy also refuses two documents with the same three.
func ExampleDistinct() {
	one, _ := swrun.Parse("one.yaml", []byte(hello))
	two, _ := swrun.Parse("two.yaml", append([]byte(hello), "# edited\n"...))
	fmt.Println(swrun.Distinct(one, one))
	fmt.Println(swrun.Distinct(one, two))
	// Output:
	// <nil>
	// one.yaml and two.yaml are different documents, and both are demo/hello:1.0.0
}

// Check reports the faults of a document in this program before it runs.
func ExampleDocument_Check() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: event, version: 1.0.0}
do:
  - pay: {call: "charge:1.0.0@default"}
`))
	fmt.Println(document.Err())
	fmt.Println(document.Check(swrun.CheckConfig{}))
	// Output:
	// <nil>
	// document:4:17: error[SW801]: no performer is registered for `charge:1.0.0@default`
}

// A document can be sent to another machine with its external resources. That machine reads nothing else for it.
func ExampleDocument_WithResources() {
	document, _ := swrun.Parse("", []byte(hello))
	whole, err := document.WithResources(swrun.Host{})
	fmt.Println(len(whole.Resources), err)

	children, err := swrun.NewDocuments(document).Children(document, swrun.Host{}) // the workflows that its tasks run
	fmt.Println(len(children), err)
	// Output:
	// 0 <nil>
	// 0 <nil>
}

// A document names the workflows that its tasks run. They need not exist yet.
func ExampleDocument_Children() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: order, version: 1.0.0}
do:
  - pay: {run: {workflow: {namespace: demo, name: bank, version: 2.0.0}}}
`))
	children, err := document.Children(swrun.Host{})
	fmt.Println(children[0].Reference, children[0].Task, err)
	// Output:
	// demo/bank:2.0.0 /do/0/pay <nil>
}

// Commands and scripts of workflows run below supervisors. processes is the result of Supervise in this program's main.
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
