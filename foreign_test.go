package swrun_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// runsPay is a task that runs a workflow of the namespace bb, as text of a function.
const runsPay = `run: {workflow: {namespace: bb, name: pay, version: latest}}`

// childrenOfOthers returns documents of the namespace aa that run bb/pay, each from another place.
func childrenOfOthers(folder string) map[string]string {
	const head = "document: {dsl: 1.0.3, namespace: aa, name: parent, version: 1.0.0}\n"
	return map[string]string{
		"a task":              head + "do: [{t: {" + runsPay + "}}]",
		"a task in a task":    head + "do: [{t: {try: [{c: {for: {in: '${ [1] }'}, do: [{d: {" + runsPay + "}}]}}], catch: {do: [{d: {set: {x: 1}}}]}}}]",
		"a catch":             head + "do: [{t: {try: [{c: {set: {x: 1}}}], catch: {do: [{d: {" + runsPay + "}}]}}}]",
		"a branch":            head + "do: [{t: {fork: {branches: [{b: {set: {x: 1}}}, {c: {" + runsPay + "}}]}}}]",
		"a function":          head + "use: {functions: {f: {" + runsPay + "}}}\ndo: [{t: {call: f}}]",
		"a function's call":   head + "use: {functions: {f: {call: g}, g: {" + runsPay + "}}}\ndo: [{t: {call: f}}]",
		"a file":              head + "do: [{t: {call: 'file://" + folder + "/pay.yaml'}}]",
		"a file's file":       head + "do: [{t: {call: 'file://" + folder + "/calls-pay.yaml'}}]",
		"the default catalog": head + "do: [{t: {call: 'pay:1.0.0@default'}}]",
		"a catalog":           head + "use: {catalogs: {c: {endpoint: 'file://" + folder + "'}}}\ndo: [{t: {call: 'pay:1.0.0@c'}}]",
		"an extension":        head + "use: {extensions: [{e: {extend: set, before: [{b: {" + runsPay + "}}]}}]}\ndo: [{t: {set: {x: 1}}}]",
		"a detached run":      head + "do: [{t: {run: {await: false, workflow: {namespace: bb, name: pay, version: latest}}}}]",
	}
}

// mustWriteFunctions writes the functions that the documents call, and returns their folder.
func mustWriteFunctions(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"pay.yaml": runsPay, "calls-pay.yaml": "call: 'file://" + folder + "/pay.yaml'", "functions/pay/1.0.0/function.yaml": runsPay,
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// engineInMemory returns an engine on a store in memory.
func engineInMemory(t *testing.T) (*swrun.Store, *swrun.Engine) {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // nothing is left to be written
	return s, mustEngineOn(t, s, swrun.Host{})
}

// TestWorkflowsOfOthersAreNotRun: if only the namespace aa is granted, an engine neither deploys nor starts a document with a task that runs a
// workflow of bb, at whatever place the task is. If both namespaces are granted, the engine does.
func TestWorkflowsOfOthersAreNotRun(t *testing.T) {
	folder := mustWriteFunctions(t)
	pay, err := os.ReadFile(filepath.Join(folder, "pay.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	function, err := swrun.ParseFunction("pay:1.0.0", pay, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, e := engineInMemory(t)
	if _, _, err := e.DeployFunction(t.Context(), function); err != nil {
		t.Fatal(err)
	}
	own := definition.WithGranted(t.Context(), definition.Granted{"aa"})
	both := definition.WithGranted(t.Context(), definition.Granted{"aa", "bb"})
	for name, text := range childrenOfOthers(folder) {
		t.Run(name, func(t *testing.T) {
			d, err := swrun.Parse("", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			_, started := e.StartDocument(own, d, nil, swrun.StartOptions{})
			_, checked := e.CheckRuns(own, d)
			for what, err := range map[string]error{"deploy": e.Deploy(own, d), "start": started, "check": checked} {
				var foreign *definition.ForeignError
				if !errors.As(err, &foreign) || foreign.Workflow.String() != "bb/pay:latest" || !foreign.Task {
					t.Errorf("%s: %v", what, err)
				}
			}
			if _, err := e.StartDocument(both, d, nil, swrun.StartOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	if all, err := definition.AllDeployed(t.Context(), s, "aa", ""); err != nil || len(all) > 0 {
		t.Errorf("%v is deployed, %v", all, err)
	}
}

// TestWhatIsNotGrantedIsRefused: no method of the library that takes the name of a run or of a workflow does anything in a namespace that is not
// granted. The test finds the methods by reflection.
func TestWhatIsNotGrantedIsRefused(t *testing.T) {
	s, e := engineInMemory(t)
	for _, namespace := range []string{"aa", "bb"} {
		d, _ := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: "+namespace+", name: w, version: 1.0.0}\nschedule: {every: {hours: 1}}\ndo: [{a: {wait: {hours: 1}}}]"))
		if err := e.Deploy(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	granted := definition.WithGranted(t.Context(), definition.Granted{"aa"})
	for _, namespace := range []string{"aa", "bb"} {
		for name, call := range methodsAboutRuns(e, namespace) {
			id := "of-" + strings.ToLower(strings.ReplaceAll(name, ".", "-"))
			if _, err := e.Start(t.Context(), namespace+"/w", nil, swrun.StartOptions{ID: id}); err != nil {
				t.Fatal(err)
			}
			if namespace == "aa" && (strings.HasSuffix(name, "Wait") || strings.HasSuffix(name, "Await") || strings.HasSuffix(name, "Follow")) {
				continue // they wait until the run is ended, and no worker works on it
			}
			before := mustStored(t, s, namespace, id)
			err := call(granted, store.Instance{Namespace: namespace, ID: id})
			refused := store.RefusedAs(err) == store.NoSuch || errors.As(err, new(*definition.ForeignError))
			if refused != (namespace == "bb") {
				t.Errorf("%s in %s: %v", name, namespace, err)
			}
			if namespace == "bb" && !reflect.DeepEqual(before, mustStored(t, s, namespace, id)) {
				t.Errorf("%s has changed a run of bb", name)
			}
		}
	}
}

func mustStored(t *testing.T, s *swrun.Store, namespace, id string) store.Loaded {
	t.Helper()
	l, err := s.Load(t.Context(), store.Instance{Namespace: namespace, ID: id})
	if err != nil && store.RefusedAs(err) != store.NoSuch {
		t.Fatal(err)
	}
	return l
}

// methodsAboutRuns returns the methods of the client and of runs that are about one run, and the methods of the engine and the schedules that name a
// workflow.
func methodsAboutRuns(e *swrun.Engine, namespace string) map[string]func(context.Context, store.Instance) error {
	all := map[string]func(context.Context, store.Instance) error{}
	add := func(name string, of func(store.Instance) reflect.Value, skip int) {
		all[name] = func(ctx context.Context, i store.Instance) error {
			m := of(i)
			in := []reflect.Value{reflect.ValueOf(ctx)}
			if skip == 2 {
				in = append(in, reflect.ValueOf(i))
			}
			for n := skip; n < m.Type().NumIn(); n++ {
				in = append(in, argument(m.Type().In(n)))
			}
			if m.Type().IsVariadic() {
				in = in[:len(in)-1]
			}
			out := m.Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			return err
		}
	}
	c := reflect.TypeFor[*client.Client]()
	for n := range c.NumMethod() {
		m := c.Method(n)
		if m.Type.NumIn() > 2 && m.Type.In(2) == reflect.TypeFor[store.Instance]() && m.Name != "Forks" && m.Name != "TakeUp" { // about a run that was read before, or is not started yet
			add("Client."+m.Name, func(store.Instance) reflect.Value { return reflect.ValueOf(e.Client()).Method(n) }, 2)
		}
	}
	r := reflect.TypeFor[*swrun.Run]()
	for n := range r.NumMethod() {
		m := r.Method(n)
		if m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]() {
			add("Run."+m.Name, func(i store.Instance) reflect.Value { return reflect.ValueOf(e.Run(i.Namespace, i.ID)).Method(n) }, 1)
		}
	}
	of := definition.Reference{Namespace: namespace, Name: "w", Version: "1.0.0"}
	all["Engine.Start"] = func(ctx context.Context, _ store.Instance) error {
		_, err := e.Start(ctx, of.String(), nil, swrun.StartOptions{})
		return err
	}
	all["Engine.Publish"] = func(ctx context.Context, i store.Instance) error {
		_, err := e.Publish(ctx, map[string]any{"specversion": "1.0", "id": i.ID, "source": "/a", "type": "b"}, []string{namespace})
		return err
	}
	all["Schedules.Of"] = func(ctx context.Context, _ store.Instance) error {
		_, err := e.Schedules().Of(ctx, namespace, "w")
		return err
	}
	all["Schedules.Pause"] = func(ctx context.Context, _ store.Instance) error {
		_, err := e.Schedules().Pause(ctx, namespace, "w", "", "")
		return err
	}
	all["Schedules.Resume"] = func(ctx context.Context, _ store.Instance) error {
		_, err := e.Schedules().Resume(ctx, namespace, "w")
		return err
	}
	all["Schedules.Trigger"] = func(ctx context.Context, _ store.Instance) error {
		_, err := e.Schedules().Trigger(ctx, namespace, "w", "", nil)
		return err
	}
	return all
}

// argument returns a valid argument of a type.
func argument(t reflect.Type) reflect.Value {
	switch {
	case t.Kind() == reflect.Func:
		return reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
			for n := range t.NumOut() {
				out = append(out, reflect.Zero(t.Out(n)))
			}
			return out
		})
	case t == reflect.TypeFor[time.Duration]():
		return reflect.ValueOf(time.Millisecond)
	case t == reflect.TypeFor[client.Migration]():
		return reflect.ValueOf(client.Migration{To: "latest"})
	case t == reflect.TypeFor[client.DeadlineChange]():
		return reflect.ValueOf(client.DeadlineChange{By: time.Hour})
	case t.Kind() == reflect.Pointer:
		return reflect.New(t.Elem())
	}
	return reflect.Zero(t)
}

// TestListsAreOfWhatIsGranted: lists, searches and events omit the namespaces that are not granted.
func TestListsAreOfWhatIsGranted(t *testing.T) {
	s, e := engineInMemory(t)
	for _, namespace := range []string{"aa", "bb"} {
		for _, schedule := range []string{"", "\nschedule: {on: {one: {with: {type: go}}}}"} {
			d, _ := swrun.Parse("", fmt.Appendf(nil, "document: {dsl: 1.0.3, namespace: %s, name: w%d, version: 1.0.0}%s\ndo: [{a: {wait: {hours: 1}}}]", namespace, len(schedule), schedule))
			if err := e.Deploy(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Start(t.Context(), namespace+"/w0", nil, swrun.StartOptions{ID: "same", ExecutionTimeout: time.Hour, TimeoutsFromAccept: true}); err != nil {
			t.Fatal(err)
		}
	}
	ctx := definition.WithGranted(t.Context(), definition.Granted{"aa"})
	exact, begun, err := e.Client().Find(ctx, "same")
	if err != nil || len(exact) != 1 || len(begun) != 0 {
		t.Errorf("%v %v %v are found", exact, begun, err)
	}
	if _, _, err := e.Client().Find(ctx, "bb/same"); err != nil {
		t.Error(err)
	}
	report, err := e.Publish(ctx, map[string]any{"specversion": "1.0", "id": "1", "source": "/a", "type": "go"}, nil)
	if err != nil || len(report.Started) != 1 || report.Started[0].Namespace != "aa" {
		t.Errorf("%+v %v", report, err)
	}
	for _, seen := range []struct {
		name string
		all  func() (namespaces []string, err error)
	}{
		{"upcoming", func() (all []string, err error) {
			err = e.Client().Upcoming(ctx, time.Now().Add(2*time.Hour), func(i store.Instance) error { all = append(all, i.Namespace); return nil })
			return all, err
		}},
		{"schedules", func() (all []string, err error) {
			known, err := e.Schedules().All(ctx)
			for _, x := range known {
				all = append(all, x.Workflow.Namespace)
			}
			return all, err
		}},
		{"deployed", func() (all []string, err error) {
			known, err := definition.AllDeployed(ctx, s, "", "")
			for _, d := range known {
				all = append(all, d.Namespace)
			}
			return all, err
		}},
	} {
		found, err := seen.all()
		if said := strings.Join(found, " "); err != nil || !strings.Contains(said, "aa") || strings.Contains(said, "bb") {
			t.Errorf("%s: %s %v", seen.name, said, err)
		}
	}
	if err := e.Functions().Remove(ctx, "x:1.0.0"); !errors.As(err, new(*definition.ForeignError)) || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
