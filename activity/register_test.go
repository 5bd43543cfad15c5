package activity_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/activity"
	"github.com/swrun/swrun/errors"
)

// TestRegister: a type has one function, which it gets before the worker runs; and a worker runs once.
func TestRegister(t *testing.T) {
	w, err := activity.New(activity.Config{Server: mustServe(t).URL})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *activity.Task) (any, error) { return nil, nil }
	refused := func(kind string, f activity.Func, want string) {
		t.Helper()
		var wrong *activity.RegisterError
		if err := w.Register(kind, f); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || wrong.Type != kind {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, kind := range []string{"", " ", "\n\t"} {
		refused(kind, nothing, "the type is blank")
	}
	refused("x", nil, "the function is nil")
	if err := w.Register("x", nothing); err != nil {
		t.Fatal(err)
	}
	refused("x", nothing, `register "x": the type has a function already`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	refused("y", nothing, "register functions before Run")
	if err := w.Run(t.Context()); !errors.Is(err, activity.ErrRunning) {
		t.Errorf("a second Run returns %v", err)
	}
}

// TestWorkersOfOneName: a name is for people. A worker that stops ends the polls of all that are called so, and takes nothing from them.
func TestWorkersOfOneName(t *testing.T) {
	d := mustServe(t)
	done := func(context.Context, *activity.Task) (any, error) { return "done", nil }
	defer d.work(t, activity.Config{Name: "ada"}, "x", done)()
	for range 10 {
		stop := d.work(t, activity.Config{Name: "ada"}, "x", done)
		var runs sync.WaitGroup
		for range 5 {
			runs.Add(1)
			run := d.start(t, "do: [{a: {call: 'activity:1.0.0@default', with: {type: x, timeouts: {scheduleToStart: PT1M}}}}]")
			go func(run *swrun.Run) {
				defer runs.Done()
				if got := output(t, run); got != "done" {
					t.Errorf("got %s", got)
				}
			}(run)
		}
		stop()
		runs.Wait()
	}
}
