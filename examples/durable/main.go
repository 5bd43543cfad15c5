// Command durable runs a workflow that outlives its process. Kill it at any moment and start it again: the run continues.
//
//	go run ./examples/durable orders.db
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

const order = `
document: {dsl: 1.0.3, namespace: demo, name: order, version: 1.0.0}
timeout: {after: {minutes: 1}}
do:
  - pay: {call: pay@default, with: {amount: '${ .amount }'}}
  - pack: {wait: {seconds: 2}}
  - ship: {call: ship@default}
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: durable FILE")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts or continues the order, and prints its outcome.
func run(ctx context.Context, file string) error {
	runs, err := swrun.OpenStore(ctx, "file:"+file, swrun.StoreConfig{})
	if err != nil {
		return err
	}
	defer runs.Close()
	engine, err := swrun.NewEngine(runs, swrun.EngineConfig{
		Host:    swrun.Host{Calls: map[string]swrun.Performer{"pay@default": pay, "ship@default": ship}},
		Observe: show,
	})
	if err != nil {
		return err
	}
	document, err := swrun.Parse("order.yaml", []byte(order))
	if err != nil {
		return err
	}
	// The same id, document and input identify the same run: a second call continues it.
	started, err := engine.StartDocument(ctx, document, map[string]any{"amount": 30}, swrun.StartOptions{ID: "order-7"})
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() { worked <- engine.Work(working) }()
	result, err := started.Await(ctx)
	stop()
	if failed := <-worked; err == nil {
		err = failed
	}
	if err == nil {
		fmt.Println("the order is", result.Output)
	}
	return err
}

// pay takes the money. Its key lets the bank recognize a repetition, if this process is killed before the result is stored.
func pay(_ context.Context, c swrun.Call) (any, error) {
	fmt.Println("paying", c.With["amount"], "with a key of", len(c.Key), "characters")
	return map[string]any{"paid": c.With["amount"]}, nil
}

func ship(context.Context, swrun.Call) (any, error) { return map[string]any{"shipped": true}, nil }

// show prints the stored events of the run.
func show(_ store.Instance, events []interpreter.HistoryEvent) {
	for _, e := range events {
		fmt.Println(e.Type, e.Pointer)
	}
}
