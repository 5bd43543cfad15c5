package swrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// Performer performs a call in Go. What it returns, of any Go type that encoding/json would write, is the output of the task. An
// *errors.Error is what the workflow can catch; any other error, and a panic, becomes one of type runtime. The stack of a panic goes
// to Host.Log. It returns soon after ctx has ended, which happens when the task is cancelled or its time is over. It may be called
// again for the same task, after a crash or a retry: Key is the same then.
type Performer func(ctx context.Context, c Call) (any, error)

// Call is one attempt to perform a `call` task.
type Call struct {
	Name     string         // what stands behind `call`
	With     map[string]any // its arguments, evaluated
	Run      string         // id of the run
	Task     string         // pointer of the task in the document
	Key      string         // idempotency key, the same for every attempt
	Attempt  int            // counts from 1
	Deadline time.Time      // when the task ends at the latest; zero for never
}

// Decode converts the arguments into a Go value, as encoding/json does.
func (c Call) Decode(into any) error { return decode(c.With, into) }

// withCalls adds the calls that are performed in Go to the kinds of tasks, in the place of those that are performed otherwise.
func withCalls(kinds []interpreter.Kind, calls map[string]Performer, log *slog.Logger) []interpreter.Kind {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		kind := dsl.Kind("call_" + name)
		if !slices.Contains(dsl.Kinds(), kind) {
			continue
		}
		kinds = slices.DeleteFunc(kinds, func(k interpreter.Kind) bool { return k.Kind == kind })
		kinds = append(kinds, interpreter.Kind{Kind: kind, Perform: perform(calls, log), Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
			return newCallBody(b, t, name)
		}})
	}
	for i, k := range kinds {
		if k.Kind == dsl.KindCallFunction && len(calls) > 0 {
			kinds[i].Perform = perform(calls, log)
			kinds[i].Compile = func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
				if name := t.(*dsl.CallFunction).Function; calls[name] != nil {
					return newCallBody(b, t, name)
				}
				return k.Compile(b, t)
			}
		}
	}
	return kinds
}

// checkCalls refuses names that no call could have.
func checkCalls(calls map[string]Performer) error {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		function, catalog, isFunction := strings.Cut(name, "@")
		kind := dsl.Kind("call_" + name)
		switch {
		case calls[name] == nil:
			return &OptionError{"Calls", fmt.Sprintf("the performer of %q is nil", name)}
		case isFunction && function != "" && catalog == "default":
		case isFunction || kind == dsl.KindCallFunction || !slices.Contains(dsl.Kinds(), kind):
			return &OptionError{"Calls", fmt.Sprintf("%q is neither a protocol nor a function of the default catalog, such as charge@default", name)}
		}
	}
	return nil
}

// callBody is a call that is performed in Go.
type callBody struct {
	name string
	with *expr.Template
}

// callRequest is what a callBody asks for.
type callRequest struct {
	Name string `json:"name"`
	With any    `json:"with"`
}

func newCallBody(b *interpreter.Builder, t dsl.Task, name string) interpreter.Body {
	at := t.Base().Pointer.Key("with")
	with := b.Workflow().Source.Data(at)
	if with == nil {
		with = map[string]any{}
	}
	return &callBody{name, b.Value(dsl.Value{Pointer: at, Data: with})}
}

// Enter implements interpreter.Body.
func (c *callBody) Enter(s *interpreter.Scope) interpreter.Next {
	with, err := s.Eval(c.with, s.Input())
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(callRequest{c.name, with})
}

// Finish implements interpreter.Leaf.
func (c *callBody) Finish(_ *interpreter.Scope, result any) interpreter.Next {
	return interpreter.Done(result)
}

// perform returns what performs the requests of callBody.
func perform(calls map[string]Performer, log *slog.Logger) interpreter.Performer {
	return func(ctx context.Context, r interpreter.Request) (any, error) {
		v, err := expr.Decode(r.Body)
		if err != nil {
			return nil, err
		}
		request, _ := v.(map[string]any)
		name, _ := request["name"].(string)
		with, _ := request["with"].(map[string]any)
		if calls[name] == nil {
			return nil, errors.Configurationf("this program has no performer of %s", name)
		}
		var output any
		err = withoutPanic(log, "the performer of "+name, func() error {
			result, err := calls[name](ctx, Call{
				Name: name, With: with, Run: r.Instance, Task: string(r.Pointer), Key: r.Key, Attempt: r.Attempt, Deadline: r.Deadline,
			})
			if err != nil {
				return err
			}
			if output, err = dataOf(result); err != nil {
				return fmt.Errorf("the performer of %s returned a value that is not JSON: %w", name, err)
			}
			return nil
		})
		if err != nil {
			return nil, callError(ctx, err)
		}
		return output, nil
	}
}

// maxPanic is how many bytes of a panic's value stand in an error.
const maxPanic = 500

// withoutPanic calls a function of the program. A panic becomes an error of one line; its stack is logged.
func withoutPanic(log *slog.Logger, what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %s", what, shorten.To(fmt.Sprint(v), maxPanic))
			log.Error(what+" panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// callError makes the error of a performer one that the workflow can catch, unless the call has been cancelled.
func callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var fault *errors.Error
	switch {
	case !errors.As(err, &fault):
		return errors.Runtimef("%s", err)
	case fault == nil:
		return errors.Runtimef("the performer returned a nil *errors.Error as its error")
	}
	complete := *fault
	complete.Type, complete.Status = cmp.Or(fault.Type, errors.Runtime), cmp.Or(fault.Status, 500)
	return &complete
}

// decode converts data of a workflow into a Go value.
func decode(v, into any) error {
	data, err := expr.Encode(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
