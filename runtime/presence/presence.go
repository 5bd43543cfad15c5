// Package presence tells which workers of a store are there, and what they say of themselves: each announces itself in the store's registry
// while it is there. It decides for everyone whether a worker is there for a run.
package presence

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Worker is what a worker says of itself.
type Worker struct {
	Name    string `json:"name"`    // under which it holds runs
	Version string `json:"version"` // of the program
	Host    string `json:"host"`
	Process int    `json:"process"` // its id on the host
	Grants  Grants `json:"grants"`
	// Queues are the task queues that it takes; AllQueues stands for all.
	Queues []string `json:"queues,omitempty"`
	// Runs are those that it works on, and what they start; it works on all runs if there are none.
	Runs        []store.Instance `json:"runs,omitempty"`
	Concurrency int              `json:"concurrency"` // runs that perform something at a time; 0 if it performs nothing
	Load

	Since time.Time `json:"since"` // by the store's clock
	Seen  time.Time `json:"-"`     // when it announced itself last, the same
}

// AllQueues stands for all task queues.
const AllQueues = "*"

// Grants is what tasks may use at a worker.
type Grants struct {
	Processes  bool     `json:"processes,omitempty"` // shell commands and scripts
	Containers bool     `json:"containers,omitempty"`
	Volumes    []string `json:"volumes,omitempty"` // that containers may have
	Files      bool     `json:"files,omitempty"`   // of its machine, as external resources
	Network    string   `json:"network,omitempty"` // as --network says
	Calls      []string `json:"calls,omitempty"`   // with performers of its own
	Scripts    []string `json:"scripts,omitempty"` // languages that run there; of this process, Languages finds them
	// Secret reports whether the worker has a secret, and Reaches whether it may call an address. Others do not know that of it.
	Secret  func(name string) bool    `json:"-"`
	Reaches func(address string) bool `json:"-"`
	// Languages finds the languages that run at this worker, which may start programs, so it is asked when somebody wants to know.
	Languages func(context.Context) []string `json:"-"`
}

// languages returns the languages of scripts that run at the worker.
func (g *Grants) languages(ctx context.Context) []string {
	if g.Languages == nil {
		return g.Scripts
	}
	return g.Languages(ctx)
}

// Load is what a worker does.
type Load struct {
	Held       int  `json:"held"`               // runs in its memory
	Performing int  `json:"performing"`         // those of them that perform something, or are about to
	Draining   bool `json:"draining,omitempty"` // it stops, and takes nothing any more
	// PerQueue is how many effects of each task queue it performs.
	PerQueue map[string]int `json:"perQueue,omitempty"`
}

// Serves reports whether the worker works on a run, or on one of several that belong together.
func (w *Worker) Serves(runs ...store.Instance) bool {
	return len(w.Runs) == 0 || slices.ContainsFunc(runs, func(i store.Instance) bool { return slices.Contains(w.Runs, i) })
}

// Has reports whether the worker has what somebody needs to go on with a run.
func (w *Worker) Has(n store.Need) bool {
	for _, part := range n.Parts() {
		if !w.hasPart(part) {
			return false
		}
	}
	return true
}

// Tells reports whether workers announce whether they have some needs: which secrets they have, and what exactly they may call, they do not.
func Tells(needs []string) bool {
	return !slices.ContainsFunc(needs, func(need string) bool {
		_, secret := interpreter.NeededSecret(need)
		_, address := interpreter.NeededNetwork(need)
		return secret || address
	})
}

func (w *Worker) hasPart(need string) bool {
	if queue, ok := interpreter.NeededQueue(need); ok {
		return slices.Contains(w.Queues, queue) || slices.Contains(w.Queues, AllQueues)
	}
	if call, ok := interpreter.NeededCall(need); ok {
		return slices.Contains(w.Grants.Calls, call)
	}
	if language, ok := interpreter.NeededScript(need); ok {
		return slices.Contains(w.Grants.languages(context.Background()), language)
	}
	if name, ok := interpreter.NeededSecret(need); ok {
		return w.Grants.Secret != nil && w.Grants.Secret(name)
	}
	if address, ok := interpreter.NeededNetwork(need); ok {
		return w.Grants.Reaches != nil && w.Grants.Reaches(address)
	}
	if run, ok := interpreter.NeededReserved(need); ok {
		return slices.ContainsFunc(w.Runs, func(i store.Instance) bool { return i.String() == run })
	}
	if source, ok := interpreter.NeededVolume(need); ok {
		return slices.ContainsFunc(w.Grants.Volumes, func(granted string) bool { return interpreter.VolumeWithin(granted, source) })
	}
	switch need {
	case interpreter.NeedProcesses:
		return w.Grants.Processes
	case interpreter.NeedContainers:
		return w.Grants.Containers
	case interpreter.NeedFiles:
		return w.Grants.Files
	}
	return false
}

// Serving returns those of some workers that work on a run, or on one of several that belong together.
func Serving(all []Worker, runs ...store.Instance) (serving []Worker) {
	for _, w := range all {
		if w.Serves(runs...) {
			serving = append(serving, w)
		}
	}
	return serving
}

// AnnounceEvery is how often a worker announces itself, and lasting for how long that holds: so long it takes to notice that it stands still. That it
// has ended is noticed at once (store.Presence).
const (
	AnnounceEvery = 10 * time.Second
	lasting       = 3 * AnnounceEvery
	// retryEvery is how often it tries to, as long as the store does not answer.
	retryEvery = time.Second
)

// Announcer announces one worker.
type Announcer struct {
	Store  store.Store
	Worker Worker
	Load   func() Load
	// Failed is called when the store does not answer.
	Failed func(error)
}

// Run announces the worker until ctx ends: at once, again once its languages are known, and at once when changed is closed.
func (a *Announcer) Run(ctx context.Context, changed <-chan struct{}) {
	defer a.Store.Attend(ctx, a.Worker.Name)()
	defer a.leave(context.WithoutCancel(ctx))
	languages := make(chan []string, 1)
	var search sync.WaitGroup
	if find := a.Worker.Grants.Languages; find != nil {
		search.Go(func() { languages <- find(ctx) })
	}
	defer search.Wait()
	for {
		pause := AnnounceEvery
		if err := a.announce(ctx); err != nil {
			if pause = retryEvery; ctx.Err() == nil {
				a.Failed(err)
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case a.Worker.Grants.Scripts = <-languages:
			timer.Stop()
		case <-changed:
			timer.Stop()
			changed = nil
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// announce registers the worker; the first time it learns from that since when it is there.
func (a *Announcer) announce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, AnnounceEvery)
	defer cancel()
	a.Worker.Load = a.Load()
	data, err := store.EncodeEntry(store.RegistryWorkers, a.Worker)
	if err != nil {
		return err
	}
	done, err := a.Store.Register(ctx, store.Registration{
		Kind: store.RegistryWorkers, Key: a.Worker.Name, Value: data, Version: store.AnyVersion, For: lasting,
	})
	if err == nil && a.Worker.Since.IsZero() {
		a.Worker.Since = done.Ends.Add(-lasting)
	}
	return err
}

// leave has the store forget the worker, which is forgotten by itself otherwise.
func (a *Announcer) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, retryEvery)
	defer cancel()
	_ = a.Store.Unregister(ctx, store.RegistryWorkers, a.Worker.Name, store.AnyVersion) // it ends by itself too
}

// lateAfter is how long after its last announcement a worker that is well has announced itself again.
const lateAfter = AnnounceEvery + 5*time.Second

// examineWithin is how long a store may take to say that it is well, before whoever asks for workers is told that it does not answer.
const examineWithin = time.Second

// Workers returns the workers that are there, the longest there first. If some have not announced themselves in time, and the store would not have
// taken their word, it returns a *store.UnheardError.
func Workers(ctx context.Context, s store.Store) ([]Worker, error) {
	all, late, err := announced(ctx, s)
	if alone, ok := s.(interface{ Attended() bool }); ok && !alone.Attended() {
		late = false // nobody else can have the store, and no worker is in this process
	}
	if err != nil || !late {
		return all, err
	}
	if err := Unheard(ctx, s); err != nil {
		return nil, err
	}
	return all, nil
}

// Unheard returns a *store.UnheardError if the store takes no word from workers now: whoever is late with one, or with renewing a lease, may be there.
func Unheard(ctx context.Context, s store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, examineWithin)
	defer cancel()
	if ailment, mute := store.Mute(s.Examine(ctx)); mute {
		return &store.UnheardError{Ailment: ailment}
	}
	return nil
}

// CheckEntry reports why the entry of a worker cannot be read.
func CheckEntry(r store.Registered) error {
	_, err := store.DecodeEntry[Worker](store.RegistryWorkers, r)
	return err
}

// announced returns the workers that are there by their word, and whether any word is late: an expected one has not come, or nobody has given any.
func announced(ctx context.Context, s store.Store) (all []Worker, late bool, err error) {
	entries, err := s.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryWorkers})
	if err != nil {
		return nil, false, err
	}
	late = len(entries) == 0
	var names []string
	for _, e := range entries {
		names = append(names, e.Key)
	}
	attending, err := s.Attending(ctx, names)
	if err != nil {
		return nil, false, fmt.Errorf("ask which workers are there: %w", err)
	}
	for _, e := range entries {
		if !slices.Contains(attending, e.Key) {
			continue
		}
		w, err := store.DecodeEntry[Worker](store.RegistryWorkers, e)
		if store.RefusedAs(err) == store.Newer {
			continue // what it says of itself is only known to workers of its own build
		}
		if err != nil {
			late = true // it replaces its damaged word with the next one
			continue
		}
		w.Seen = e.Ends.Add(-lasting)
		late = late || e.At.Sub(w.Seen) > lateAfter
		if w.Since.IsZero() { // this is its first announcement
			w.Since = w.Seen
		}
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b Worker) int { return a.Since.Compare(b.Since) })
	return all, late, nil
}
