package swrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
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
	"github.com/swrun/swrun/tasks"
)

// Performer performs a call in Go. Its result may have any Go type that encoding/json can write, and is the output of the task. The workflow can
// catch an *errors.Error; any other error, and a panic, becomes an error of type runtime. The stack of a panic is written to Host.Log. A Performer
// must return soon after ctx ends, which happens when the task is cancelled or its time is over. It may be called again for the same task, after a
// crash or a retry, with the same Key.
type Performer func(ctx context.Context, c Call) (any, error)

// Call is one attempt to perform a `call` task.
type Call struct {
	Name     string         // the value of `call`
	With     map[string]any // its arguments, evaluated
	Run      string         // id of the run
	Task     string         // pointer of the task in the document
	Key      string         // idempotency key, the same for every attempt
	Attempt  int            // counts from 1
	Deadline time.Time      // latest end of the task; zero for none
}

// Decode converts the arguments into a Go value, as encoding/json does.
func (c Call) Decode(into any) error { return decode(c.With, into) }

// calls are the performers of a program, and the handling of calls that have no performer.
type calls struct {
	performers map[string]Performer
	log        *slog.Logger
	// elsewhere is true if another process may perform a call that this process cannot perform. The call is compiled anyway.
	elsewhere bool
	catalog   string // the default catalog; may be empty
	deployed  bool   // functions of the default catalog may be deployed
}

// orElsewhere returns calls for a stored document: other processes may have the performers that are missing here.
func (c calls) orElsewhere() calls {
	c.elsewhere = true
	return c
}

// isDefaultFunction reports whether a call names a function of the default catalog.
func isDefaultFunction(name string) bool {
	function, catalog, _ := strings.Cut(name, "@")
	return function != "" && catalog == "default" && !strings.Contains(function, "/")
}

// check refuses names that no call can have.
func (c calls) check() error {
	for _, name := range slices.Sorted(maps.Keys(c.performers)) {
		switch {
		case c.performers[name] == nil:
			return &OptionError{"Calls", fmt.Sprintf("the performer of %q is nil", name)}
		case !slices.Contains(dsl.CallProtocols(), name) && !isDefaultFunction(name):
			return &OptionError{"Calls", fmt.Sprintf("%q is neither a protocol nor a function of the default catalog, such as charge@default", name)}
		}
	}
	return nil
}

// replace replaces, among the kinds of tasks, those whose calls are performed in Go.
func (c calls) replace(kinds []interpreter.Kind) []interpreter.Kind {
	for _, kind := range dsl.Kinds() {
		name := kind.CallProtocol()
		if name == "" || c.performers[name] == nil {
			continue
		}
		kinds = append(slices.DeleteFunc(kinds, func(k interpreter.Kind) bool { return k.Kind == kind }), interpreter.Kind{Kind: kind, Perform: c.perform, Compile: func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
			return c.body(b, t, name)
		}})
	}
	at := slices.IndexFunc(kinds, func(k interpreter.Kind) bool { return k.Kind == dsl.KindCallFunction })
	function := kinds[at]
	kinds[at].Perform = c.perform
	kinds[at].Compile = func(b *interpreter.Builder, t dsl.Task) interpreter.Body {
		name := t.(*dsl.CallFunction).Function
		if _, defined := b.Workflow().Use.Functions[name]; defined || !isDefaultFunction(name) || c.isCataloged(b, name) {
			return function.Compile(b, t)
		}
		return c.function(b, t, name)
	}
	return kinds
}

// isCataloged reports whether a function of the default catalog is read from the catalog. A function that has a version may be, unless it is
// performed here. If other processes may perform it, it is read from the catalog if the definition contains it.
func (c calls) isCataloged(b *interpreter.Builder, name string) bool {
	if c.performers[name] != nil || !strings.Contains(name, ":") {
		return false
	}
	w := b.Workflow()
	switch {
	case c.elsewhere:
		_, err := b.Read(tasks.OfDefaultCatalog(w, name))
		return err == nil
	case c.catalog != "" || w.Use.Catalogs["default"] != nil:
		return true
	case c.deployed && len(c.performers) > 0: // for a function that is not deployed, the message about registered performers is more useful
		_, err := b.Read(tasks.InDefaultCatalog(name))
		return !errors.Is(err, fs.ErrNotExist)
	}
	return c.deployed
}

// function compiles a call of a function of the default catalog that is performed in Go.
func (c calls) function(b *interpreter.Builder, t dsl.Task, name string) interpreter.Body {
	if c.performers[name] != nil || c.elsewhere {
		return c.body(b, t, name)
	}
	message := fmt.Sprintf("no performer is registered for `%s`", name)
	if names := slices.Sorted(maps.Keys(c.performers)); len(names) > 0 {
		message += "; registered: " + shorten.To(strings.Join(names, ", "), maxListed)
	}
	help := "a Go program registers functions of the default catalog in Host.Calls; those with a version may also be in a folder (--catalog, Host.Catalog), or be deployed into the store that the document is for (swrun function deploy)"
	b.Add(dsl.Diagnostic{Code: "SW801", Pointer: t.Base().Pointer.Key("call"), Message: message, Help: help})
	return nil
}

// maxListed is the maximum length of a list of performers in a message, in bytes.
const maxListed = 300

// callBody is a call that is performed in Go.
type callBody struct {
	name string
	with *expr.Template
}

// callRequest is the request of a callBody.
type callRequest struct {
	Name string `json:"name"`
	With any    `json:"with"`
}

func (c calls) body(b *interpreter.Builder, t dsl.Task, name string) interpreter.Body {
	b.Needs(interpreter.NeedCall(name))
	return &callBody{name, b.Value(dsl.Arguments(b.Workflow(), t))}
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

// perform performs the request of a callBody.
func (c calls) perform(ctx context.Context, r interpreter.Request) (output any, err error) {
	v, err := expr.Decode(r.Body)
	if err != nil {
		return nil, err
	}
	request, _ := v.(map[string]any)
	name, _ := request["name"].(string)
	with, _ := request["with"].(map[string]any)
	if c.performers[name] == nil {
		return nil, errors.Configurationf("no performer is registered for %s", name)
	}
	err = withoutPanic(c.log, "the performer of "+name, func() error {
		result, err := c.performers[name](ctx, Call{
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

// withoutPanic calls a function of the program. A panic becomes an error of one line; its stack is logged.
func withoutPanic(log *slog.Logger, what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %s", what, shorten.Panic(v))
			log.Error("a function of the program panicked", "function", what, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// callError converts the error of a performer into an error that the workflow can catch, unless the call was cancelled.
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
