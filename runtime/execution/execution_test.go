package execution_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/tasks"
)

// driven is an execution driven by a test, which answers its actions.
type driven struct {
	*execution.Execution
	*testing.T
	now time.Time
}

const loadWithin = 8 * time.Second

// take returns the execution of a run that its first owner has claimed, and whose program is not loaded.
func take(t *testing.T) *driven {
	t.Helper()
	return takeAfter(t, 0)
}

// takeAfter is take, after some owners of the run were lost.
func takeAfter(t *testing.T, deaths int64) *driven {
	t.Helper()
	d := &driven{T: t, now: time.UnixMilli(1_800_000_000_000).UTC()}
	invocation, err := (&execution.Invocation{Workflow: definition.Reference{Namespace: "test", Name: "a", Version: "0.1.0"}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	claimed := store.Claimed{
		Instance: store.Instance{Namespace: "test", ID: "a"}, Token: store.Token{Epoch: 1, Nonce: "n"}, At: d.now,
		Loaded: store.Loaded{Lifecycle: store.Lifecycle{Status: interpreter.StatusRunning, Started: d.now, Deaths: deaths}, Invocation: invocation},
	}
	config := execution.Config{
		Clock: func() time.Time { return d.now }, LoadWithin: loadWithin, ParkAfter: time.Second, CheckpointAfter: 50 * time.Millisecond,
	}
	if d.Execution, err = execution.New(config, &claimed); err != nil {
		t.Fatal(err)
	}
	return d
}

// load is take, and loads a document.
func load(t *testing.T, document string) *driven {
	t.Helper()
	d := take(t)
	d.load(document)
	return d
}

func (d *driven) load(document string) {
	t := d.T
	t.Helper()
	w, found := dsl.Parse("test.yaml", []byte("document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}\n"+document))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	p, found := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{})})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	if err := d.Loaded(p); err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass.
func (d *driven) pass(span time.Duration) {
	d.now = d.now.Add(span)
	d.TimePassed()
}

// store answers the commit that is asked for, and returns it.
func (d *driven) store() store.Commit {
	d.Helper()
	c := d.Actions().Commit
	if c == nil {
		d.Fatal("nothing is to be stored")
	}
	d.Committed(store.Committed{}, nil)
	return *c
}

// performed returns the tasks whose effects are to be performed, and clears them as a driver does.
func (d *driven) performed() (names []string, all []interpreter.Effect) {
	a := d.Actions()
	all, a.Perform = a.Perform, nil
	for _, e := range all {
		path := string(e.Request.Path)
		names = append(names, path[strings.LastIndex(path, "/")+1:])
	}
	return names, all
}

// performs checks which effects are to be performed now.
func (d *driven) performs(want ...string) []interpreter.Effect {
	d.Helper()
	names, all := d.performed()
	if !slices.Equal(names, want) {
		d.Errorf("%q are performed, not %q", names, want)
	}
	return all
}

const (
	called = "{call: http, with: {method: get, endpoint: 'http://test/'}}"
	once   = "{call: http, with: {method: get, endpoint: 'http://test/'}, metadata: {swrun: {delivery: at-most-once}}}"
	aside  = "{run: {shell: {command: x}, await: false}}"
)

func TestEffectsWaitForASlot(t *testing.T) {
	d := load(t, "do: [{a: "+called+"}]")
	d.performs()
	if !d.Actions().AskSlot {
		t.Fatal("no slot is asked for")
	}
	d.SlotFree()
	if d.Actions().AskSlot {
		t.Error("another slot is asked for")
	}
	effect := d.performs("a")[0]
	d.Finished(interpreter.Finished{Effect: effect.ID, Result: 1})
	if c := d.store(); c.Status != interpreter.StatusCompleted || !d.Actions().Done {
		t.Errorf("it is %s", c.Status)
	}
}

// TestWithoutASlot: the run goes to another owner, and later the more executions wait.
func TestWithoutASlot(t *testing.T) {
	for waiting, after := range map[int]time.Duration{0: 5 * time.Second, 100: 5 * time.Second, 200: 10 * time.Second} {
		d := load(t, "do: [{a: "+called+"}]")
		d.NoSlot(waiting)
		d.pass(50 * time.Millisecond)
		d.store() // effects in flight are stored
		began := d.now.Add(-50 * time.Millisecond)
		d.NoSlot(0) // changes nothing
		if at := d.Actions().CallAt; !at.Equal(began.Add(after)) {
			t.Errorf("with %d others it is called after %s, not after %s", waiting, at.Sub(began), after)
		}
		d.pass(after - 51*time.Millisecond)
		if d.Actions().Yield || d.Actions().Commit != nil {
			t.Error("it is handed over early")
		}
		d.pass(time.Millisecond)
		if c := d.store(); !d.Actions().Yield || !c.Release || !c.Ready || !d.Actions().Done {
			t.Errorf("it is not handed over: %+v", c)
		}
		d.performs()
	}
}

// TestAtMostOnceIsStoredBeforeItBegins, and as not begun as long as there is no slot.
func TestAtMostOnceIsStoredBeforeItBegins(t *testing.T) {
	d := load(t, "do: [{a: "+once+"}]")
	d.SlotFree()
	d.store()
	d.performs("a")

	d = load(t, "do: [{w: {wait: PT0.1S}}, {a: "+once+"}]")
	d.store()
	d.pass(100 * time.Millisecond)
	d.store()
	d.performs()
	d.SlotFree()
	d.performs()
	d.store()
	d.performs("a")
}

// TestDrain: effects that did not begin are left to another owner, unless they are stored as begun.
func TestDrain(t *testing.T) {
	d := load(t, "do: [{a: "+called+"}]")
	d.SlotFree()
	d.Drain() // before the driver begins anything
	if c := d.store(); !c.Release || !c.Ready {
		t.Errorf("it is not handed over: %+v", c)
	}
	d.performs()

	d = load(t, "do: [{a: "+once+"}]")
	d.SlotFree()
	d.store()
	d.Drain()
	effect := d.performs("a")[0]
	d.Finished(interpreter.Finished{Effect: effect.ID})
	d.store()
}

// TestLeave: effects in flight are cancelled, and the run is handed over in its present state.
func TestLeave(t *testing.T) {
	d := load(t, "do: [{a: "+called+"}]")
	d.SlotFree()
	effect := d.performs("a")[0]
	d.Leave()
	if cancelled := d.Actions().Cancel; !slices.Equal(cancelled, []interpreter.EffectID{effect.ID}) {
		t.Errorf("%v are cancelled", cancelled)
	}
	if c := d.store(); !c.Release || !c.Ready {
		t.Errorf("it is not handed over: %+v", c)
	}
}

// TestLeaseLost: only detached effects still begin, since they are stored as begun.
func TestLeaseLost(t *testing.T) {
	d := load(t, "do: [{f: {fork: {branches: [{a: "+called+"}, {b: "+aside+"}]}}}]")
	d.SlotFree()
	d.store()
	d.LeaseLost(execution.ErrLeaseLost)
	d.performs("b")
	if a := d.Actions(); !a.Done || !errors.Is(a.Failed, execution.ErrLeaseLost) {
		t.Errorf("done is %v: %v", a.Done, a.Failed)
	}
}

// TestCancelledIsNotInFlight: a run whose effect was cancelled is given back for the wait that follows.
func TestCancelledIsNotInFlight(t *testing.T) {
	d := load(t, "do: [{t: {try: [{a: {call: http, with: {method: get, endpoint: 'http://test/'}, timeout: {after: PT2S}}}], catch: {do: [{w: {wait: PT1H}}]}}}]")
	d.SlotFree()
	d.performs("a")
	d.pass(50 * time.Millisecond)
	d.store()
	d.pass(2 * time.Second)
	d.store()
	if c := d.store(); !c.Release || !d.Actions().Done {
		t.Errorf("it is held: %+v", c)
	}
}

// TestNotLoaded: a store that cannot be asked is asked again for a while, and then the run is given back. A run of which a newer build has stored the definition is
// given back, too.
func TestNotLoaded(t *testing.T) {
	newer := take(t)
	newer.NotLoaded(store.Refuse(store.Newer, time.Time{}, "the definition"))
	newer.pass(loadWithin)
	if c := newer.store(); !c.Release {
		t.Errorf("a run of a newer build is not given back: %+v", c)
	}

	unavailable := &definition.UnavailableError{Digest: "d", Err: errors.New("no answer")}
	d := take(t)
	d.NotLoaded(unavailable)
	if d.Actions().Load == "" && d.Actions().Commit != nil {
		t.Error("it is given back at once")
	}
	d.pass(loadWithin)
	if c := d.store(); !c.Release || d.Actions().Load != "" || !errors.Is(d.Actions().Failed, unavailable.Err) {
		t.Errorf("it is not given back: %+v", c)
	}

	d = take(t)
	d.NotLoaded(unavailable)
	d.Leave()
	if c := d.store(); !c.Release {
		t.Errorf("its owner leaves, and it is not given back: %+v", c)
	}

	d = take(t)
	d.NotLoaded(errors.New("it does not compile"))
	if a := d.Actions(); !a.Done || a.Failed == nil || a.Commit != nil {
		t.Error("it goes on without a program")
	}
}

// TestCommitsAreNotAnswered: the same commit is sent again, a few times if the owner leaves, and for longer otherwise.
func TestCommitsAreNotAnswered(t *testing.T) {
	for leaving, times := range map[bool]int{false: 31, true: 3} {
		d := load(t, "do: [{a: {set: {x: 1}}}]")
		if leaving {
			d.Leave()
		}
		c := d.Actions().Commit
		for n := 1; n <= times; n++ {
			if a := d.Actions(); a.Commit != c || a.Done {
				t.Fatalf("after %d times it is not sent again", n-1)
			}
			d.Committed(store.Committed{}, errors.New("no answer"))
		}
		if a := d.Actions(); !a.Done || !errors.Is(a.Failed, execution.ErrLeaseLost) {
			t.Errorf("after %d times done is %v: %v", times, a.Done, a.Failed)
		}
	}
}

// TestOwnersThatOnlyWaitForASlot: once an owner was lost, it is stored that the next one only waits for a slot, so that its loss
// is not counted; and stored that it does more, before it does.
func TestOwnersThatOnlyWaitForASlot(t *testing.T) {
	const document = "do: [{a: {call: http, with: {method: get, endpoint: 'http://test/'}}}]"
	waiting := func(t *testing.T, deaths int64) *driven {
		d := takeAfter(t, deaths)
		d.load(document)
		if deaths > 0 {
			d.store() // the start: its deadlines
		}
		if d.NoSlot(1); !d.Actions().AskSlot || len(d.Actions().Perform) > 0 {
			t.Fatalf("it does not wait: %+v", d.Actions())
		}
		return d
	}
	t.Run("nobody was lost", func(t *testing.T) {
		d := waiting(t, 0)
		if c := d.Actions().Commit; c != nil {
			t.Errorf("stored is %+v", c)
		}
		if d.SlotFree(); len(d.Actions().Perform) != 1 {
			t.Errorf("performed are %+v", d.Actions().Perform)
		}
	})
	t.Run("somebody was lost", func(t *testing.T) {
		d := waiting(t, 1)
		if c := d.store(); !c.AwaitsSlot {
			t.Errorf("stored is %+v", c)
		}
		if d.NoSlot(1); d.Actions().Commit != nil {
			t.Errorf("it is stored again")
		}
		if d.SlotFree(); len(d.Actions().Perform) > 0 {
			t.Error("it performs before its owner counts")
		}
		if c := d.store(); c.AwaitsSlot || len(d.Actions().Perform) != 1 {
			t.Errorf("stored is %+v, performed are %+v", c, d.Actions().Perform)
		}
	})
	t.Run("the slot is free before it is stored", func(t *testing.T) {
		d := waiting(t, 1)
		d.SlotFree()
		if first := d.store(); !first.AwaitsSlot || len(d.Actions().Perform) > 0 {
			t.Errorf("stored is %+v, performed are %+v", first, d.Actions().Perform)
		}
		if second := d.store(); second.AwaitsSlot || len(d.Actions().Perform) != 1 {
			t.Errorf("stored is %+v, performed are %+v", second, d.Actions().Perform)
		}
	})
	t.Run("it drains meanwhile", func(t *testing.T) {
		d := waiting(t, 1)
		d.store()
		d.SlotFree()
		d.Drain()
		d.store()
		if c := d.store(); !c.Release || !c.Ready || c.AwaitsSlot || len(d.Actions().Perform) > 0 {
			t.Errorf("stored is %+v, performed are %+v", c, d.Actions().Perform)
		}
	})
}
