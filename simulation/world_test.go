package simulation

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
	"github.com/swrun/swrun/tasks"
)

// world is one simulated deployment.
type world struct {
	seed   uint64
	kind   kind
	rng    *rand.Rand
	knobs  knobs
	bug    bug
	now    time.Duration // since the beginning; the store's clock
	events agenda
	order  int

	memory   store.Store // the real content of the store
	store    store.Store // the same, perhaps with a planted bug
	client   *client.Client
	operator *client.Client // with a connection that is not reliable
	relay    worker.Relay
	owners   []*owner
	runs     []*run
	compile  func(definition.Definition) (*interpreter.Program, error)

	leases     map[string]time.Duration                // end of each worker's lease in each partition, as the store keeps it
	revoked    map[store.Instance]map[store.Token]bool // tokens whose owner no longer held a lease when other owners took the run
	activities map[store.ActivityID]*seen              // the observed state of each
	calls      []call
	commands   map[store.Instance][]command // commands of operators that the store accepted
	operating  int                          // number of operators' actions in progress
	copies     []*copied
	forks      []*forked
	crashes    int
	faulty     bool // faults still happen
	problems   []string
	trace      []string
}

// knobs are the decisions of a seed about the deployment and the frequency of faults.
type knobs struct {
	slots               []int // of each owner
	partitions          int
	lease               time.Duration
	latency             time.Duration // of a message, on average
	drop, double        float64       // of messages
	crash, pause, leave float64       // of owners, per second
	skew                float64       // error of the clocks' rates
	faults              time.Duration // duration of the time with faults
	outageAt, outage    time.Duration // beginning and duration of the time in which the store cannot be reached
}

// call is a request that an owner has sent to the outside.
type call struct {
	at       time.Duration
	instance store.Instance
	path     interpreter.Path
	epoch    int64
	held     bool // the run still belonged to its owner
	killed   int  // 1 if it killed its owner
}

func epoch() time.Time { return time.UnixMilli(1_800_000_000_000) }

// event is an action at a time.
type event struct {
	at    time.Duration
	order int // of events at the same time
	what  string
	do    func()
}

type agenda []*event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(*event)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}

// kind is the kind of a world, which decides its members.
type kind int

const (
	inside    kind = iota // owners that perform everything themselves
	outside               // also outside workers
	operated              // also operators
	listening             // events
	receiving             // runs that only wait for data of others
)

func newWorld(seed uint64, of kind, b bug, compile func(definition.Definition) (*interpreter.Program, error)) *world {
	w := &world{seed: seed, kind: of, rng: rand.New(rand.NewPCG(seed, 1+uint64(of))), activities: map[store.ActivityID]*seen{}, bug: b, faulty: true, compile: compile, leases: map[string]time.Duration{}, revoked: map[store.Instance]map[store.Token]bool{}}
	w.knobs = w.draw()
	w.memory = memstore.New(memstore.Config{Partitions: w.knobs.partitions, Now: func() time.Time { return epoch().Add(w.now) }})
	w.store = w.memory
	if b.store != nil {
		w.store = b.store(w)
	}
	if of == outside {
		w.store = &observer{w.store, w}
	}
	w.commands = map[store.Instance][]command{}
	w.operator = client.New(client.Config{Store: distant{w.store, w}, Nonce: w.nonce, Compile: compile})
	w.client = client.New(client.Config{Store: w.memory, Nonce: w.nonce, Compile: compile})
	w.relay = worker.Relay{Store: w.store}
	return w
}

// draw decides about the deployment: each seed has its own mixture of faults.
func (w *world) draw() knobs {
	chance := func(most float64) float64 {
		if w.rng.IntN(3) == 0 {
			return 0
		}
		return most * w.rng.Float64()
	}
	slots := [][]int{{1}, {2}, {3}, {1, 0}, {2, 0}, {1, 1}, {1, 3}, {2, 2, 0}, {1, 1, 1}}[w.rng.IntN(9)]
	k := knobs{
		slots: slots, partitions: 1 + w.rng.IntN(3), lease: time.Duration(1+w.rng.IntN(4)) * time.Second,
		latency: time.Duration(1+w.rng.IntN(30)) * time.Millisecond, drop: chance(0.1), double: chance(0.1), crash: chance(0.5),
		pause: chance(0.3), leave: chance(0.3), skew: chance(0.02), faults: time.Duration(3+w.rng.IntN(8)) * time.Second,
	}
	switch w.rng.IntN(6) {
	case 0: // no fault but an outage
		k.drop, k.double, k.crash, k.pause, k.leave = 0, 0, 0, 0, 0
		fallthrough
	case 1:
		k.outageAt, k.outage = time.Duration(w.rng.IntN(3000))*time.Millisecond, time.Duration(w.rng.IntN(15_000))*time.Millisecond
		k.faults = max(k.faults, k.outageAt+k.outage)
	}
	return k
}

func (w *world) nonce() string { return fmt.Sprintf("n%016x", w.rng.Uint64()) }

// after schedules an action.
func (w *world) after(d time.Duration, what string, do func()) {
	w.order++
	heap.Push(&w.events, &event{at: w.now + max(d, 0), order: w.order, what: what, do: do})
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%10s  ", w.now)+fmt.Sprintf(format, args...))
	if len(w.trace) > 20_000 {
		w.trace = w.trace[10_000:]
	}
}

func (w *world) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("PROBLEM %s", text)
	w.problems = append(w.problems, text)
}

// limit is the maximum time after the faults until everything is over. Another owner takes the runs of an owner without slots after five seconds, but
// this may be the same owner.
const limit = 3 * time.Minute

// play runs the world to its end and returns the faults that the audits found.
func (w *world) play() []string {
	w.live()
	return w.problems
}

func (w *world) live() {
	defer func() {
		if v := recover(); v != nil { // so that the seed is reported
			w.problem("panic: %v\n%s", v, debug.Stack())
		}
	}()
	w.begin()
	for len(w.events) > 0 && w.now < w.knobs.faults+limit && len(w.problems) == 0 {
		if w.next(); w.over() {
			break
		}
	}
	if len(w.problems) == 0 {
		w.audit()
	}
}

// next carries out the next event.
func (w *world) next() {
	e := heap.Pop(&w.events).(*event)
	w.now = e.at
	e.do()
}

// begin starts owners, runs and faults.
func (w *world) begin() {
	for n := range w.knobs.slots {
		o := &owner{w: w, n: n}
		w.owners = append(w.owners, o)
		o.boot()
	}
	w.deploy(documents())
	kinds := w.kind.workloads()
	if w.kind == outside {
		w.beginOutside()
	}
	switch w.kind {
	case listening:
		w.deploy(listeningWorkloads())
	case receiving:
		w.deploy(receivingWorkloads())
	}
	for n := range 2 + w.rng.IntN(5) {
		r := &run{kind: kinds[w.rng.IntN(len(kinds))], id: fmt.Sprintf("r%d", n)}
		w.runs = append(w.runs, r)
		w.after(time.Duration(w.rng.IntN(2000))*time.Millisecond, "start", func() { w.start(r) })
	}
	w.after(w.knobs.faults, "no more faults", func() { w.faulty = false })
	w.after(w.knobs.faults+10*time.Second, "retry", w.retry)
}

func (w *world) deploy(all []workload) {
	for _, d := range all {
		for _, text := range d.texts() {
			if _, err := w.client.Deploy(context.Background(), definition.Definition{Document: text}); err != nil {
				w.problem("deploy: %s", err)
			}
		}
	}
}

// retry does the work of an operator that knows that the runs did not kill their owners. Only the run poison did.
func (w *world) retry() {
	for _, r := range w.runs {
		l, err := w.memory.Load(context.Background(), r.instance)
		if err == nil && l.Lifecycle.Reason == store.Quarantined && r.kind.name != "poison" {
			w.note("retry %s", r.id)
			if _, err := w.client.Retry(context.Background(), r.instance, client.RetryOptions{}); err != nil {
				w.problem("retry %s: %s", r.id, err)
			}
		}
	}
}

func (w *world) start(r *run) {
	reference := definition.Reference{Namespace: "sim", Name: r.kind.name, Version: "1.0.0"}
	i, err := w.client.Start(context.Background(), reference, nil, client.StartOptions{ID: r.id})
	if err != nil {
		w.problem("start %s: %s", r.id, err)
		return
	}
	r.instance = i
	w.note("start %s (%s)", r.id, r.kind.name)
	if r.kind.pause && w.rng.IntN(3) == 0 {
		w.pause(r)
	}
	w.beginOperators(r)
	w.beginPublishers(r)
	if r.kind.moves {
		w.move(r)
	}
	if r.kind.cancel && w.rng.IntN(2) == 0 {
		w.after(time.Duration(w.rng.IntN(3000))*time.Millisecond, "cancel", func() {
			if err := w.client.Cancel(context.Background(), i, "by the simulation"); err == nil {
				r.cancelled = true
				w.note("cancel %s", r.id)
			}
		})
	}
}

// pause suspends a run for a while.
func (w *world) pause(r *run) {
	from := time.Duration(w.rng.IntN(2000)) * time.Millisecond
	to := from + time.Duration(w.rng.IntN(3000))*time.Millisecond
	give := func(what string, command func(context.Context, store.Instance, string) error) func() {
		return func() {
			if err := command(context.Background(), r.instance, "by the simulation"); err == nil {
				w.note("%s %s", what, r.id)
			}
		}
	}
	w.after(from, "suspend", give("suspend", w.client.Suspend))
	w.after(to, "resume", give("resume", w.client.Resume))
}

// move moves the deadline of a run's task a few times.
func (w *world) move(r *run) {
	for range 1 + w.rng.IntN(3) {
		w.after(time.Duration(w.rng.IntN(2500))*time.Millisecond, "move", func() {
			by := time.Duration(w.rng.IntN(4000)-2000) * time.Millisecond
			moved, err := w.client.SetDeadline(context.Background(), r.instance, client.DeadlineChange{Task: "/do/0/t/try/0/a", By: by, Reason: "by the simulation"})
			if w.note("move a deadline of %s by %s: %v", r.id, by, err); err == nil && moved.At.Before(w.storeTime()) {
				w.problem("A8: a deadline of %s was moved into the past, to %s", r.id, moved.At)
			}
		})
	}
}

// over reports whether every run is over and no message is on its way.
func (w *world) over() bool {
	if w.faulty || w.operating > 0 {
		return false
	}
	for _, r := range w.runs {
		if r.instance.ID == "" {
			return false
		}
	}
	for p := range w.knobs.partitions {
		st, err := w.memory.Statistics(context.Background(), p)
		if err != nil || st.Ready+st.Waiting+st.Outbox > 0 {
			return false
		}
	}
	return true
}

// perform decides the result of an effect, and how long it takes. If ok is false, the effect never ends.
func (w *world) perform(r interpreter.Request) (took time.Duration, result any, err error, ok bool) {
	took = time.Duration(w.rng.IntN(200)) * time.Millisecond
	body := string(r.Body)
	switch {
	case strings.Contains(body, "/hang"):
		return 0, nil, nil, false
	case strings.Contains(body, "/flaky") && !strings.Contains(string(r.Path), "!2"):
		return took, nil, flaky(), true
	}
	return took, map[string]any{"at": string(r.Pointer)}, nil, true
}

// compiler compiles each document once, for all seeds.
func compiler() func(definition.Definition) (*interpreter.Program, error) {
	kinds := receivers(tasks.All(tasks.Config{}))
	cache := map[string]*interpreter.Program{}
	return func(d definition.Definition) (*interpreter.Program, error) {
		if p := cache[d.Document]; p != nil {
			return p, nil
		}
		workflow, found := dsl.Parse("sim.yaml", []byte(d.Document))
		if err := found.Err(); err != nil {
			return nil, err
		}
		p, found := interpreter.Compile(workflow, interpreter.Config{Kinds: kinds, Runtime: map[string]any{"name": "swrun"}})
		cache[d.Document] = p
		return p, found.Err()
	}
}

func (w *world) program(digest string) *interpreter.Program {
	d, err := definition.Load(context.Background(), w.memory, digest)
	if err != nil {
		panic(err)
	}
	p, err := w.compile(d)
	if err != nil {
		panic(err)
	}
	return p
}
