// Package swrun runs workflows of the CNCF Serverless Workflow DSL 1.0 in Go programs: in memory, on real or virtual time, or in a
// store, where they go on whatever is killed. The command swrun is made of it.
//
// # Run a document
//
// A workflow is a YAML document. Load reads and checks it, Document.Run runs it to its end. Input and output are Go values: whatever
// encoding/json would write goes in, and Result.Decode reads what comes out.
//
//	quote, err := swrun.Load("quote.yaml")
//	if err != nil {
//		return err // a dsl.Diagnostics: what is wrong, where, and what to do
//	}
//	result, err := quote.Run(ctx, Order{Item: "tea"}, swrun.RunConfig{})
//	if err != nil {
//		return err // an *errors.Error if the workflow has faulted
//	}
//	var price Price
//	err = result.Decode(&price)
//
// # Virtual time
//
// RunConfig.VirtualTime jumps over waits, timeouts and retry delays, so that a test of a workflow that sleeps for thirty days takes
// milliseconds. Nothing else is different: it is the same interpreter, and the same deadlines pass in the same order.
//
// # Runs that are kept
//
// A store keeps runs: a Redis that any number of processes share, a file, or memory for tests. An Engine starts runs in a store,
// looks after them, and works on them.
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
//	stop()         // what Work is doing
//	err = <-worked // why the store cannot be relied on; nil once everything is handed over
//
// Start stores the run, and returns; Await looks at the store until the run has ended. Neither of them works on the run: as long as no
// process calls Work on the store, Await waits until its context ends.
//
// A process may be killed at any moment. Who works on the store next goes on with its runs: what was stored has happened, timers and
// deadlines have kept running, and a task whose result was not stored is performed again. Run has the commands: Cancel, Terminate,
// Suspend, Resume, Retry; Run.Describe tells what a run waits for, until when, and what happens then. The program in examples/durable
// does all this; a test kills it.
//
// # Performers of your own
//
// Host says what workflows may use of the program. Host.Calls performs `call` tasks in Go: those of a protocol (`call: http` in a test,
// `call: grpc` in earnest), and functions of the default catalog, which is the catalog that the runtime offers:
//
//	do:
//	  - pay: {call: charge@default, with: {amount: 30}}
//
//	swrun.Host{Calls: map[string]swrun.Performer{"charge@default": charge}}
//
//	func charge(ctx context.Context, c swrun.Call) (any, error)
//
// Other functions of the default catalog are documents: those in the folder or at the URL of Host.Catalog, those that Host.Functions returns, and those that
// are deployed in the store of an engine.
//
//	greet, err := swrun.LoadFunction("greet:1.0.0", "greet/function.yaml")
//	_, _, err = engine.DeployFunction(ctx, greet) // call: greet:1.0.0 in what is deployed afterwards
//
// A task's timeout ends ctx, its retries call the performer again, and Call.Key is the same for all of them, so that the other side can
// tell a repetition. A panic is an error of the task, too. A run waits for a process that has all performers of its document; its
// deadlines hold meanwhile.
//
// Shell commands and scripts need Supervise, first in main:
//
//	func main() {
//		processes := swrun.Supervise()
//		defer processes.Close()
//		...
//	}
//
// Without it, their tasks fail with an error of type configuration that says so.
//
// # Errors
//
// What is wrong with a document is a dsl.Diagnostics. What a workflow could have caught, and has not, is an *errors.Error: type, status,
// title, detail, and the task as its instance, as in RFC 9457. An invalid option is an *OptionError, or a *client.OptionError for a start;
// a URL that does not name a store is a *StoreURLError; an input that is not JSON is an *InputError, and one that the workflow
// refuses an *UnfitInputError. What a store does not do in the state
// that a run is in is a *store.Refusal; a *RunExistsError, a *DeployedError, a *FunctionDeployedError and a *NotDeployedError wrap one. A *FunctionNameError is a name that no function can have. A *boltstore.HeldError says
// that another process has the file. Anything else is a failure of the program or of its machine.
//
// # What is not promised
//
// Effects happen at least once, not exactly once: see Call.Key, and `metadata: {swrun: {delivery: at-most-once}}`. A file belongs to one
// process at a time. What a Redis has confirmed is as durable as the Redis is: StoreConfig.Require refuses one that is not enough. The
// zero Host trusts documents with the whole network; for those of strangers there is NetworkPublic. Tasks that this version does not run
// (some protocols of AsyncAPI) are refused before anything has run. Run takes no notice of a
// schedule, and warns of one; Engine.Deploy keeps it, and Engine.Work starts runs at its times.
package swrun
