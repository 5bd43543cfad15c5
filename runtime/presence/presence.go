// Package presence determines the present workers of a store, and their announcements: each worker announces itself in the store's registry
// while it is present. All packages use its decision on whether a worker is present for a run.
package presence

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Worker is a worker's announcement of itself.
type Worker struct {
	Name    string `json:"name"`    // under which it holds runs
	Version string `json:"version"` // of the program
	Host    string `json:"host"`
	Process int    `json:"process"` // its id on the host
	Grants  Grants `json:"grants"`
	// Queues are the task queues that it takes; AllQueues stands for all.
	Queues []string `json:"queues,omitempty"`
	// Runs are the runs that it works on, including the runs started by them; it works on all runs if the list is empty.
	Runs        []store.Instance `json:"runs,omitempty"`
	Concurrency int              `json:"concurrency"` // runs that perform something at a time; 0 if it performs nothing
	Load

	Since time.Time `json:"since"` // by the store's clock
	Seen  time.Time `json:"-"`     // when it announced itself last, the same
}

// AllQueues stands for all task queues.
const AllQueues = "*"

// Grants are the permissions of tasks at a worker.
type Grants struct {
	Processes  bool     `json:"processes,omitempty"` // shell commands and scripts
	Containers bool     `json:"containers,omitempty"`
	Volumes    []string `json:"volumes,omitempty"` // that containers may have
	Files      bool     `json:"files,omitempty"`   // of its machine, as external resources
	Network    string   `json:"network,omitempty"` // value of --network
	Calls      []string `json:"calls,omitempty"`   // with performers of its own
	Scripts    []string `json:"scripts,omitempty"` // languages that run there; of this process, Languages finds them
	// Secret reports whether the worker has a secret, and Reaches whether it may call an address. Other processes do not know this.
	Secret  func(name string) bool    `json:"-"`
	Reaches func(address string) bool `json:"-"`
	// Languages finds the languages that run at this worker. It may start programs, so it is called only on demand.
	Languages func(context.Context) []string `json:"-"`
}

// languages returns the languages of scripts that run at the worker.
func (g *Grants) languages(ctx context.Context) []string {
	if g.Languages == nil {
		return g.Scripts
	}
	return g.Languages(ctx)
}

// Load is the load of a worker.
type Load struct {
	Held       int  `json:"held"`               // runs in its memory
	Performing int  `json:"performing"`         // the part that performs an effect, or is about to
	Draining   bool `json:"draining,omitempty"` // it stops, and takes nothing any more
	// PerQueue is how many effects of each task queue it performs.
	PerQueue map[string]int `json:"perQueue,omitempty"`
}

// Serves reports whether the worker works on a run, or on one of several that belong together.
func (w *Worker) Serves(runs ...store.Instance) bool {
	return len(w.Runs) == 0 || slices.ContainsFunc(runs, func(i store.Instance) bool { return slices.Contains(w.Runs, i) })
}

// Has reports whether the worker meets a need.
func (w *Worker) Has(n store.Need) bool {
	for _, part := range n.Parts() {
		if !w.hasPart(part) {
			return false
		}
	}
	return true
}

// Tells reports whether workers announce if they meet some needs. They do not announce their secrets, and the exact addresses that they may
// call.
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

// Serving returns the workers that work on a run, or on one of several related runs.
func Serving(all []Worker, runs ...store.Instance) (serving []Worker) {
	for _, w := range all {
		if w.Serves(runs...) {
			serving = append(serving, w)
		}
	}
	return serving
}

// AnnounceEvery is how often a worker announces itself, and lasting how long an announcement is valid, which is the time to notice that a
// worker hangs. Its end is noticed immediately (store.Presence).
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

// Run announces the worker until ctx ends: immediately, again when its languages are known, and immediately when changed is closed.
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

// leave removes the worker's announcement from the store, which would otherwise expire.
func (a *Announcer) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, retryEvery)
	defer cancel()
	_ = a.Store.Unregister(ctx, store.RegistryWorkers, a.Worker.Name, store.AnyVersion) // it expires anyway
}

// lateAfter is how long after its last announcement a worker that is well has announced itself again.
const lateAfter = AnnounceEvery + 5*time.Second

// examineWithin is how long a store may take to report that it is well, before it counts as unresponsive for callers that ask for workers.
const examineWithin = time.Second

// Workers returns the workers that are there, the longest there first. If some have not announced themselves in time, and the store would not have
// taken their word, it returns a *store.UnheardError.
func Workers(ctx context.Context, s store.Store) ([]Worker, error) {
	all, late, err := announced(ctx, s)
	if alone, ok := s.(interface{ Attended() bool }); ok && !alone.Attended() {
		late = false // no other process can have the store open, and no worker is in this process
	}
	if err != nil || !late {
		return all, err
	}
	if err := Unheard(ctx, s); err != nil {
		return nil, err
	}
	return all, nil
}

// Unheard returns a *store.UnheardError if the store accepts no announcements now: workers whose announcement or lease renewal is late may
// still be present. Its details are those that the context grants.
func Unheard(ctx context.Context, s store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, examineWithin)
	defer cancel()
	if ailment, mute := store.Mute(s.Examine(ctx)); mute {
		return &store.UnheardError{Ailment: definition.GrantedIn(ctx).Ailment(ailment)}
	}
	return nil
}

// CheckEntry reports why the entry of a worker cannot be read.
func CheckEntry(r store.Registered) error {
	_, err := store.DecodeEntry[Worker](store.RegistryWorkers, r)
	return err
}

// announced returns the workers that are present by their announcements. late reports whether an expected announcement is missing, or there
// are no announcements.
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
			continue // this part of its announcement is only known to workers of its own build
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
