package runtime_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
	"github.com/swrun/swrun/tasks"
)

// host is a store with workers, all of it in a bubble of virtual time.
type host struct {
	*testing.T
	store   store.Store
	client  *client.Client
	perform interpreter.Performer // of run_shell
	enter   func()                // in each step that begins a run_shell; nil for nothing
	limits  limits.Set            // of compiled definitions
	aliases errors.Aliases
	secrets func(string) (any, bool)
	places  *expr.Places
}

func newHost(t *testing.T) *host {
	store := memstore.New(memstore.Config{Partitions: 2})
	h := &host{T: t, store: store}
	h.client = client.New(client.Config{Store: store, Compile: h.compile})
	return h
}

func (h *host) compile(d definition.Definition) (*interpreter.Program, error) {
	w, found := dsl.Parse("test.yaml", []byte(d.Document))
	if err := found.Err(); err != nil {
		return nil, err
	}
	kinds := []interpreter.Kind{{
		Kind: dsl.KindRunShell, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body { return newEffect(b, t, h.enter) },
		Perform: func(ctx context.Context, r interpreter.Request) (any, error) { return h.perform(ctx, r) },
	}}
	for _, k := range tasks.All(tasks.Config{}) {
		if k.Kind != dsl.KindRunShell {
			kinds = append(kinds, k)
		}
	}
	p, found := interpreter.Compile(w, interpreter.Config{Kinds: kinds, Limits: h.limits, ErrorAliases: h.aliases, Secrets: h.secrets, Places: h.places, Runtime: map[string]any{"name": "swrun"}})
	return p, found.Err()
}

// work runs a worker until the function that it returns is called.
func (h *host) work(c worker.Config) (stop func()) {
	c.Store, c.Compile = h.store, h.compile
	if testing.Verbose() && c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(h.Output(), nil))
	}
	ctx, cancel := context.WithCancel(h.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		worker.New(c).Run(ctx)
	}()
	return func() { cancel(); <-done }
}

func (h *host) start(document string, o client.StartOptions) store.Instance {
	h.Helper()
	document = titled("a", document)
	i, err := h.client.StartDefinition(h.Context(), definition.Definition{Document: document}, nil, o)
	if err != nil {
		h.Fatal(err)
	}
	return i
}

// program compiles a document for a run in memory.
func (h *host) program(document string) *interpreter.Program {
	h.Helper()
	p, err := h.compile(definition.Definition{Document: "document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\n" + document})
	if err != nil {
		h.Fatal(err)
	}
	return p
}

// titled adds its title to a document. It may begin with further properties of document, in braces.
func titled(name, document string) string {
	title := "dsl: 1.0.3, namespace: test, name: " + name + ", version: 0.1.0"
	if more, ok := strings.CutPrefix(document, "{"); ok {
		return "document: {" + title + ", " + more
	}
	return "document: {" + title + "}\n" + document
}

func (h *host) deploy(name, document string) {
	h.Helper()
	document = titled(name, document)
	if _, err := h.client.Deploy(h.Context(), definition.Definition{Document: document}); err != nil {
		h.Fatal(err)
	}
}

func (h *host) wait(i store.Instance) execution.Outcome {
	h.Helper()
	o, err := h.client.Wait(h.Context(), i)
	if err != nil {
		h.Fatal(err)
	}
	return o
}

// effect is a kind of effect that the test controls. With the command "receive", it only waits for messages from others.
type effect struct {
	detached, waits bool
	enter           func()
}

func newEffect(b *interpreter.Builder, t dsl.Task, enter func()) interpreter.Body {
	b.Needs(interpreter.NeedProcesses)
	detached := t.(*dsl.RunShell).Detached
	if detached {
		b.Detaches()
	}
	return effect{detached, t.(*dsl.RunShell).Command.Data == "receive", enter}
}

func (e effect) Enter(*interpreter.Scope) interpreter.Next {
	if e.enter != nil {
		e.enter()
	}
	if e.detached {
		return interpreter.Detach(nil, nil)
	}
	if e.waits {
		return interpreter.Perform(nil).Waiting()
	}
	return interpreter.Perform(nil)
}

func (effect) Finish(_ *interpreter.Scope, result any) interpreter.Next {
	return interpreter.Done(result)
}

// hanging is a performer that lasts until it is cancelled.
func hanging(ctx context.Context, _ interpreter.Request) (any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// effortless is a performer that takes no time.
func effortless(context.Context, interpreter.Request) (any, error) { return "done", nil }

const task = "{run: {shell: {command: x}}}"

func (h *host) record(i store.Instance) store.Lifecycle {
	h.Helper()
	l, err := h.store.Load(h.Context(), i)
	if err != nil {
		h.Fatal(err)
	}
	return l.Lifecycle
}

func (h *host) records(i store.Instance) (types []string) {
	h.Helper()
	if _, err := h.client.History(h.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			types = append(types, strings.TrimSpace(string(r.Type)+" "+string(r.Path)))
		}
		return nil
	}); err != nil {
		h.Fatal(err)
	}
	return types
}

func took(o execution.Outcome) time.Duration {
	return o.EndedAt.Sub(o.StartedAt).Round(100 * time.Millisecond)
}
