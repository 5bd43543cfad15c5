package local_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/tasks"
)

// effect is a kind of effect that the test controls.
type effect struct{ detached bool }

func newEffect(_ *interpreter.Builder, t dsl.Task) interpreter.Body {
	return effect{t.(*dsl.RunShell).Detached}
}

func (e effect) Enter(*interpreter.Scope) interpreter.Next {
	if e.detached {
		return interpreter.Detach(nil, nil)
	}
	return interpreter.Perform(nil)
}

func (effect) Finish(_ *interpreter.Scope, result any) interpreter.Next {
	return interpreter.Done(result)
}

func mustProgram(t *testing.T, text string, perform interpreter.Performer) *interpreter.Program {
	t.Helper()
	return mustCompile(t, text, perform, nil)
}

func mustLimited(t *testing.T, text string, bounds limits.Set) *interpreter.Program {
	t.Helper()
	return mustCompile(t, text, nil, bounds)
}

func mustCompile(t *testing.T, text string, perform interpreter.Performer, bounds limits.Set) *interpreter.Program {
	t.Helper()
	w, found := dsl.Parse("test.yaml", []byte("document: {dsl: 1.0.3, namespace: a, name: a, version: 0.1.0}\n"+text))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	kinds := []interpreter.Kind{{
		Kind: dsl.KindRunShell, Compile: newEffect, Perform: perform,
	}}
	for _, k := range tasks.All(tasks.Config{}) {
		if k.Kind != dsl.KindRunShell {
			kinds = append(kinds, k)
		}
	}
	p, found := interpreter.Compile(w, interpreter.Config{Kinds: kinds, Limits: bounds})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVirtualTimeIsExact(t *testing.T) {
	p := mustProgram(t, "do: [{a: {wait: {days: 30}}}, {b: {wait: PT0.5S}}]", nil)
	outcome, err := local.Run(context.Background(), p, nil, local.Config{Virtual: true})
	if err != nil {
		t.Fatal(err)
	}
	if took := outcome.EndedAt.Sub(outcome.StartedAt); took != 30*24*time.Hour+500*time.Millisecond {
		t.Errorf("the run took %s", took)
	}
}

// TestChildrenShareTheClock: the parent's timeout ends a child that waits longer, at the very moment.
func TestChildrenShareTheClock(t *testing.T) {
	child := mustProgram(t, "do: [{a: {wait: {days: 30}}}]", nil)
	p := mustProgram(t, "do: [{a: {run: {workflow: {namespace: a, name: b, version: latest}}, timeout: {after: P1D}}}]", nil)
	outcome, err := local.Run(context.Background(), p, nil, local.Config{
		Virtual:   true,
		Workflows: func(_, _, _ string) (*interpreter.Program, *errors.Error) { return child, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Timeout) || outcome.EndedAt.Sub(outcome.StartedAt) != 24*time.Hour {
		t.Errorf("the run is %s after %s: %v", outcome.Status, outcome.EndedAt.Sub(outcome.StartedAt), outcome.Fault)
	}
}

// TestCancelWaitsForEffects: when Run returns, nothing that it has started is left.
func TestCancelWaitsForEffects(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := false
	p := mustProgram(t, "do: [{a: {run: {shell: {command: x}}}}]", func(ctx context.Context, _ interpreter.Request) (any, error) {
		cancel()
		<-ctx.Done()
		ended = true
		return nil, context.Cause(ctx)
	})
	outcome, err := local.Run(ctx, p, nil, local.Config{})
	if err != nil || outcome.Status != interpreter.StatusCancelled || !ended {
		t.Errorf("the run is %s, %v; the effect has ended: %v", outcome.Status, err, ended)
	}
}

// TestHostFailureEndsRun: a failure of the host cannot be caught by the workflow.
func TestHostFailureEndsRun(t *testing.T) {
	p := mustProgram(t, "do: [{t: {try: [{a: {run: {shell: {command: x}}}}], catch: {}}}]", func(context.Context, interpreter.Request) (any, error) {
		return nil, io.ErrUnexpectedEOF
	})
	if _, err := local.Run(context.Background(), p, nil, local.Config{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
}

// TestNoInputIsAnEmptyObject is semantics 3.3.
func TestNoInputIsAnEmptyObject(t *testing.T) {
	p := mustProgram(t, "do: [{a: {set: '${ . == {} }'}}]", nil)
	outcome, err := local.Run(context.Background(), p, nil, local.Config{})
	if err != nil || outcome.Output != true {
		t.Errorf("got %v, %v", outcome, err)
	}
}

// TestVirtualTimeIsBounded: a run that never waits, or waits forever, ends on virtual time too, which a timeout alone does not ensure; the
// run cannot catch it.
func TestVirtualTimeIsBounded(t *testing.T) {
	catch := "catch: {errors: {}, retry: {delay: %s, limit: {attempt: {count: 99999999}}}}}}]"
	raise := "do: [{t: {try: [{r: {raise: {error: {type: 'https://x.io/e', status: 500}}}}], "
	for name, c := range map[string]struct {
		document   string
		limit      limits.Name
		value, max int
	}{
		"a loop under a timeout":          {"timeout: {after: PT3S}\ndo: [{a: {set: {x: 1}, then: a}}]", limits.VirtualTasks, 6000, 5000},
		"a loop in a try":                 {"do: [{t: {try: [{a: {set: {x: 1}, then: a}}], catch: {}}}]", limits.VirtualTasks, 6000, 5000},
		"retries without a delay":         {raise + fmt.Sprintf(catch, "PT0S"), limits.VirtualTasks, 6000, 5000},
		"retries of a millisecond":        {raise + fmt.Sprintf(catch, "PT0.001S"), limits.VirtualTasks, 5001, 5000},
		"retries of a hundred years":      {raise + fmt.Sprintf(catch, "P99Y"), limits.VirtualYears, 297, 250},
		"waits of a hundred years":        {"do: [{a: {wait: P99Y, then: a}}]", limits.VirtualYears, 297, 250},
		"branches of which one goes on":   {"do: [{f: {fork: {branches: [{w: {wait: PT1S}}, {l: {do: [{a: {set: {x: 1}, then: a}}]}}]}}}]", limits.VirtualTasks, 6000, 5000},
		"a for with more items than that": {"do: [{f: {for: {in: '${ [limit(9000; repeat(1))] }'}, do: [{a: {set: {x: 1}}}]}}]", limits.VirtualTasks, 6000, 5000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustLimited(t, c.document, limits.Set{limits.VirtualTasks: 5000})
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			outcome, err := local.Run(context.Background(), p, nil, local.Config{Virtual: true, Now: func() time.Time { return now }})
			if err != nil || outcome.Fault == nil || !errors.Same(outcome.Fault.Type, errors.Limit) {
				t.Fatalf("the run is %s: %v, %v", outcome.Status, outcome.Fault, err)
			}
			want := map[string]any{"limit": string(c.limit), "value": c.value, "max": c.max}
			if diff := cmp.Diff(want, outcome.Fault.Extensions); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAMillionItems: how long a list is does not matter if the limits let it pass.
func TestAMillionItems(t *testing.T) {
	t.Parallel()
	p := mustLimited(t, "do: [{f: {for: {in: .}, do: [{a: {set: {x: 1}}}]}}]", limits.Set{limits.Items: 1_000_000, limits.Input: 1 << 30})
	outcome, err := local.Run(context.Background(), p, make([]any, 1_000_000), local.Config{Virtual: true})
	if err != nil || outcome.Status != interpreter.StatusCompleted {
		t.Fatalf("the run is %s: %v, %v", outcome.Status, outcome.Fault, err)
	}
}
