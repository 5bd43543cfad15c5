// Package swrun runs workflows of the CNCF Serverless Workflow DSL 1.0 in Go programs: in memory, on real or virtual time, or in a store, where a run
// survives the death of any process. The command swrun is made of this package.
//
// # Run a document
//
// A workflow is a YAML document. Load reads and checks it. Document.Run runs it to its end. Input and output are Go values: the input is any value
// that encoding/json can write, and Result.Decode reads the output.
//
//	quote, err := swrun.Load("quote.yaml")
//	if err != nil {
//		return err // a dsl.Diagnostics: each mistake, its place and its remedy
//	}
//	result, err := quote.Run(ctx, Order{Item: "tea"}, swrun.RunConfig{})
//	if err != nil {
//		return err // an *errors.Error if the workflow faulted
//	}
//	var price Price
//	err = result.Decode(&price)
//
// # Virtual time
//
// RunConfig.VirtualTime jumps over waits, timeouts and retry delays, so that a test of a workflow that sleeps for thirty days takes milliseconds.
// Nothing else is different. The interpreter is the same, and the same deadlines pass in the same order.
//
// # Runs that are kept
//
// A store keeps runs: a Redis that any number of processes share, a file, or memory for tests. An Engine starts, commands and works on the runs of a store.
//
//	store, err := swrun.OpenStore(ctx, "file:runs.db", swrun.StoreConfig{})
//	engine, err := swrun.NewEngine(store, swrun.EngineConfig{})
//	err = engine.Deploy(ctx, quote)
//	run, err := engine.Start(ctx, "demo/quote", Order{Item: "tea"}, swrun.StartOptions{ID: "order-7"})
//
//	working, stop := context.WithCancel(ctx)
//	worked := make(chan error, 1)
//	go func() { worked <- engine.Work(working) }()
//	result, err := run.Await(ctx)
//	stop()         // ends Work
//	err = <-worked // nil after all runs were handed over, or the failure of the store
//
// Start stores the run and returns. Await polls the store until the run is ended. Neither of them works on the run. If no process calls Work on the
// store, Await waits until its context ends.
//
// A process may be killed at any moment. The next process that works on the store continues its runs. Stored results count, timers and deadlines keep
// running, and a task without a stored result is performed again. The commands are methods of Run: Cancel, Terminate, Suspend, Resume, Retry.
// Run.Describe returns the current waits of a run, their deadlines, and the consequence of each deadline. The program in examples/durable does all
// this, and a test kills it.
//
// # Performers of your own
//
// Host specifies which parts of the program workflows may use. Host.Calls performs `call` tasks in Go: calls of a protocol (for example `call: http`
// in a test, or `call: grpc` in production), and functions of the default catalog, which is the catalog that the runtime offers:
//
//	do:
//	  - pay: {call: charge@default, with: {amount: 30}}
//
//	swrun.Host{Calls: map[string]swrun.Performer{"charge@default": charge}}
//
//	func charge(ctx context.Context, c swrun.Call) (any, error)
//
// Other functions of the default catalog are documents. They are in the folder or at the URL of Host.Catalog, are returned by Host.Functions, or are
// deployed in the store of an engine.
//
//	greet, err := swrun.LoadFunction("greet:1.0.0", "greet/function.yaml")
//	_, _, err = engine.DeployFunction(ctx, greet) // call: greet:1.0.0 in documents that are deployed afterwards
//
// A task's timeout ends ctx. Its retries call the performer again. Call.Key is the same for all of them, so that the other side can recognize a
// repetition. A panic is an error of the task, too. A run waits for a process that has all performers of its document. Its deadlines hold during that
// wait.
//
// Shell commands and scripts need Supervise, first in main:
//
//	func main() {
//		processes := swrun.Supervise()
//		defer processes.Close()
//		...
//	}
//
// Without Supervise, their tasks fail with an error of type configuration that names it.
//
// # Errors
//
// The mistakes in a document are a dsl.Diagnostics. An error that a workflow could catch, and did not catch, is an *errors.Error: type, status,
// title, detail, and the task as its instance, as in RFC 9457. An invalid option is an *OptionError, or a *client.OptionError for a start. A URL that
// does not name a store is a *StoreURLError. An input that is not JSON is an *InputError. An input that the workflow refuses is an *UnfitInputError.
// An operation that the state of a run does not allow is a *store.Refusal. A *RunExistsError, a *DeployedError, a *FunctionDeployedError and a
// *NotDeployedError wrap a *store.Refusal. A *FunctionNameError is a name that no function can have. A *boltstore.HeldError means that another
// process holds the file. Any other error is a failure of the program or of its machine.
//
// # Limits of the guarantees
//
// Effects happen at least once, not exactly once: see Call.Key, and `metadata: {swrun: {delivery: at-most-once}}`. A file belongs to one process at a
// time. A confirmed write is as durable as the Redis: StoreConfig.Require refuses a Redis that is not durable enough. The zero Host gives documents
// access to the whole network. NetworkPublic is for documents of strangers. Tasks that this version does not run (some protocols of AsyncAPI) are
// refused before anything runs. Run ignores a schedule, and warns about it. Engine.Deploy keeps the schedule, and Engine.Work starts runs at its
// times.
package swrun
