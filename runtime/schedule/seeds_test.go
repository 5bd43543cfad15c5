package schedule

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/storetest"
)

var (
	seeds = flag.Uint64("seeds", 100, "the last seed to play")
	from  = flag.Uint64("from", 1, "the first seed to play")
)

// world has processes that process one schedule concurrently. At each request to the store a process may pause while others continue, and
// the request, or its answer, may get lost, and the process with it. All choices are derived from one seed.
type world struct {
	rng       *rand.Rand
	clock     *storetest.Clock
	store     store.Store
	processes []*process
	faulty    bool
	breaks    int            // how often others may continue in between, until the next look
	decided   map[string]int // how often each run was decided on
	pending   []string       // the runs that were decided on and not noted as started
	started   map[string]time.Time
	problems  []string
}

// process is a process that handles the schedules, as a store.
type process struct {
	store.Store
	w     *world
	watch *watch
	looks bool // it is at it
	dead  bool
}

func newWorld(t *testing.T, seed uint64) *world {
	clock := &storetest.Clock{At: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), clock: clock, decided: map[string]int{}, started: map[string]time.Time{},
		store: memstore.New(memstore.Config{Now: clock.Now})}
	made := definition.Definition{Document: "document: {dsl: 1.0.3, namespace: demo, name: tick, version: 1.0.0, metadata: {swrun: {schedule: {missed: all}}}}\n" +
		"schedule: {every: PT3S}\ndo: [{a: {set: {n: 1}}}]\n"}
	if _, err := definition.Deploy(t.Context(), w.store, made); err != nil {
		t.Fatal(err)
	}
	for range 2 + w.rng.IntN(2) {
		w.processes = append(w.processes, w.boot())
	}
	if err := w.processes[0].watch.Deployed(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	w.faulty = true
	return w
}

func (w *world) boot() *process {
	p := &process{Store: w.store, w: w}
	p.watch = &watch{Schedules: New(Config{Store: p, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler), Compile: compile, Start: p.start})}
	return p
}

// look lets a process handle the schedules once. A process that is lost in between is replaced by another.
func (w *world) look(n int) {
	p := w.processes[n]
	if p.looks {
		return
	}
	p.looks = true
	err := p.watch.look(context.Background())
	if p.looks = false; p.dead {
		w.processes[n] = w.boot()
	} else if err != nil && !w.faulty {
		w.problem("nothing is wrong any more, and a process says %v", err)
	}
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// meanwhile lets others continue, and time pass.
func (w *world) meanwhile() {
	if !w.faulty || w.breaks == 0 || w.rng.IntN(4) > 0 {
		return
	}
	w.breaks--
	for range w.rng.IntN(3) {
		w.clock.Advance(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
		w.look(w.rng.IntN(len(w.processes)))
	}
}

// ask makes a request.
func (p *process) ask(request func() error) error {
	p.w.meanwhile()
	if p.lost() {
		return errLost
	}
	err := request()
	p.w.meanwhile()
	if p.lost() {
		return errLost
	}
	return err
}

// lost reports whether a process is lost, or just a message.
func (p *process) lost() bool {
	if p.w.faulty && p.w.rng.IntN(30) == 0 {
		p.dead = p.dead || p.w.rng.IntN(2) == 0
		return true
	}
	return p.dead
}

func (p *process) Registered(ctx context.Context, kind store.RegistryKind, key string) (r store.Registered, err error) {
	err = p.ask(func() (err error) { r, err = p.Store.Registered(ctx, kind, key); return err })
	return r, err
}

// Register counts the runs that are decided on.
func (p *process) Register(ctx context.Context, c store.Registration) (r store.Registered, err error) {
	err = p.ask(func() (err error) {
		if r, err = p.Store.Register(ctx, c); err == nil && c.Key == "demo/tick" {
			p.w.note(c, r)
		}
		return err
	})
	return r, err
}

func (w *world) note(c store.Registration, r store.Registered) {
	r.Value = c.Value
	x, err := store.DecodeEntry[Schedule](c.Kind, r)
	if err != nil {
		w.problem("%v", err)
	}
	var now []string
	for _, f := range x.Pending {
		if now = append(now, f.ID); !slices.Contains(w.pending, f.ID) {
			w.decided[f.ID]++
		}
		if f.For.After(w.clock.Now()) {
			w.problem("%s is decided on at %s", f.ID, w.clock.Now())
		}
	}
	for _, id := range w.pending {
		if _, is := w.started[id]; !is && !slices.Contains(now, id) {
			w.problem("%s was forgotten before it was started", id)
		}
	}
	w.pending = now
}

// start starts a run, unless it is there.
func (p *process) start(_ context.Context, f Firing, _ any) (string, error) {
	return f.ID, p.ask(func() error { p.w.started[f.ID] = f.For; return nil })
}

// play runs the world to its end, and returns the errors.
func (w *world) play() []string {
	for range 40 {
		w.clock.Advance(time.Duration(w.rng.IntN(2000)) * time.Millisecond)
		w.breaks = 5
		w.look(w.rng.IntN(len(w.processes)))
	}
	w.faulty = false
	paused := w.rng.IntN(2) == 0
	if paused { // then no process decides anymore, and runs that were decided are started anyway
		if _, err := w.processes[0].watch.Pause(context.Background(), "demo", "tick", "", ""); err != nil {
			w.problem("it cannot be paused: %v", err)
		}
	}
	for range 4 {
		w.clock.Advance(2 * startedWithin)
		for n := range w.processes {
			w.look(n)
		}
	}
	w.audit(paused)
	return w.problems
}

// audit checks that there is one run for each time, decided on once; up to now, unless the schedule was paused.
func (w *world) audit(paused bool) {
	for id, n := range w.decided {
		if n > 1 {
			w.problem("%s is decided on %d times", id, n)
		}
	}
	var times []time.Time
	for _, at := range w.started {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	for n := 1; n < len(times); n++ {
		if d := times[n].Sub(times[n-1]); d != 3*time.Second {
			w.problem("between %s and %s there is no run", times[n-1], times[n])
		}
	}
	for _, id := range w.pending {
		w.problem("%s is still to be started", id)
	}
	if len(times) == 0 || !paused && w.clock.Now().Sub(times[len(times)-1]) >= 3*time.Second {
		w.problem("of %d runs the last one is missing", len(times))
	}
}

// TestSeeds plays many small worlds in which processes are interrupted anywhere.
func TestSeeds(t *testing.T) {
	for seed := *from; seed <= *seeds; seed++ {
		if problems := newWorld(t, seed).play(); len(problems) > 0 {
			t.Fatalf("seed %d: PROBLEM %s", seed, problems[0])
		}
	}
}
