package bench

import (
	"context"

	"github.com/swrun/swrun/errors"

	"fmt"
	"sync"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
	"github.com/swrun/swrun/tasks"
)

// compile compiles the documents of bench: a call is a function of this process, which takes no time, or the time of perform.
func (b *benchmark) compile(perform interpreter.Performer) definition.Compile {
	return func(d definition.Definition) (*interpreter.Program, error) {
		w, found := dsl.Parse("bench", []byte(d.Document))
		if err := found.Err(); err != nil {
			return nil, err
		}
		kinds := tasks.All(tasks.Config{})
		for i := range kinds {
			if kinds[i].Kind == dsl.KindCallHTTP {
				kinds[i].Perform = perform
			}
		}
		p, found := interpreter.Compile(w, interpreter.Config{Kinds: kinds})
		return p, found.Err()
	}
}

// effortless is the call in a durable step of bench.
func effortless(context.Context, interpreter.Request) (any, error) {
	return map[string]any{"ok": true}, nil
}

// block is a step that lasts until it is cancelled.
func block(ctx context.Context, _ interpreter.Request) (any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// deploy deploys a document of bench.
func (b *benchmark) deploy(ctx context.Context, name, body string) (definition.Reference, error) {
	document := fmt.Sprintf("document: {dsl: 1.0.3, namespace: bench, name: %s, version: 1.0.0}\n%s", name, body)
	reference, err := b.Client.Deploy(ctx, definition.Definition{Document: document})
	if store.RefusedAs(err) == store.Conflict {
		err = errors.New("the store contains data of another version of bench: use another deployment, --store redis://...?deployment=NAME")
	}
	return reference, err
}

// start starts n runs from several goroutines. input returns the input of each.
func (b *benchmark) start(ctx context.Context, r definition.Reference, n int, input func(int) any) error {
	runs := make([]store.Instance, n)
	failed := make(chan error, 64)
	var group sync.WaitGroup
	next := make(chan int)
	for range 64 {
		group.Go(func() {
			for i := range next {
				instance, err := b.Client.Start(ctx, r, input(i), client.StartOptions{})
				if err != nil {
					select {
					case failed <- err:
					default: // one is enough
					}
				}
				runs[i] = instance
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	b.runs = append(b.runs, runs...)
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// work runs a worker until the function that it returns is called.
func (b *benchmark) work(ctx context.Context, c worker.Config) (stop func()) {
	c.Store = b.Store
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		worker.New(c).Run(ctx)
	}()
	return func() { cancel(); <-done }
}
