package schedule

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Config configures Schedules. All fields are required.
type Config struct {
	Store store.Store
	// Start starts a run and returns its ID: a new ID if the firing has none. An existing run with this ID and the same start is accepted.
	// An error that would occur again is a *RefusedError.
	Start func(ctx context.Context, f Firing, input any) (id string, err error)
	// Compile compiles the listener for the events of a schedule.
	Compile definition.Compile
	Now     func() time.Time // only differences of it count
	Log     *slog.Logger
}

// Schedules are the schedules of a deployment. It is safe for concurrent use.
type Schedules struct {
	Config

	plans plans

	mu sync.Mutex
	// events are the schedules that events start, with the number of changes and the time at which they were read.
	events        []Schedule
	eventsVersion int64
	eventsRead    time.Time
	noted         map[string]time.Time // when it was noted which run events have started last, by workflow
}

// New returns the schedules of a deployment.
func New(c Config) *Schedules {
	return &Schedules{Config: c, noted: map[string]time.Time{}}
}

// changes is the key of an entry whose version increases with every change of a schedule, except for the passing of its times.
const changes = "changes"

func entryOf(namespace, name string) store.RegistryEntry[Schedule] {
	return store.RegistryEntry[Schedule]{Kind: store.RegistrySchedules, Key: namespace + "/" + name}
}

// load returns the schedule of a workflow and its version, which is 0 without a schedule.
func load(ctx context.Context, r store.Registry, namespace, name string) (Schedule, int64, error) {
	x, version, err := entryOf(namespace, name).Load(ctx, r)
	if err == nil && version > 0 {
		err = x.check(namespace + "/" + name)
	}
	return x, version, err
}

// decode reads an entry of a schedule.
func decode(r store.Registered) (Schedule, error) {
	x, err := store.DecodeEntry[Schedule](store.RegistrySchedules, r)
	if err == nil {
		err = x.check(r.Key)
	}
	return x, err
}

// CheckEntry reports why an entry of the schedules cannot be read.
func CheckEntry(r store.Registered) error {
	if r.Key == changes {
		return store.CheckEntry(store.RegistrySchedules, r)
	}
	_, err := decode(r)
	return err
}

// check returns an error if the schedule does not belong to the workflow of its key.
func (s *Schedule) check(key string) error {
	if s.Workflow.Namespace+"/"+s.Workflow.Name == key {
		return nil
	}
	return store.RefuseUnreadable(store.RegistrySchedules.EntryName(key), errors.New("it does not contain the schedule of the workflow"), time.Time{})
}

// now returns the time of the store.
func (s *Schedules) now(ctx context.Context) (time.Time, error) {
	r, err := s.changes(ctx)
	if err == nil && r.Version == 0 {
		r, err = s.tell(ctx)
	}
	return r.At, err
}

// changes returns the entry that announces changes; its version is 0 before the first change. A damaged entry is replaced: it contains
// nothing but its version, and a new version makes all processes read the schedules again.
func (s *Schedules) changes(ctx context.Context) (store.Registered, error) {
	r, err := s.Store.Registered(ctx, store.RegistrySchedules, changes)
	if err == nil {
		err = store.CheckEntry(store.RegistrySchedules, r)
	}
	switch store.RefusedAs(err) {
	case store.NoSuch:
		return store.Registered{}, nil
	case store.Corrupt:
		s.Log.Warn("the entry that tells of changes of schedules was damaged, and is replaced", "error", err.Error())
		return s.tell(ctx)
	}
	return r, err
}

// change changes the schedule of a workflow, and has everyone know.
func (s *Schedules) change(ctx context.Context, namespace, name string, change func(*Schedule, time.Time) error) (Schedule, error) {
	if err := definition.GrantedIn(ctx).Check(definition.Reference{Namespace: namespace, Name: name}); err != nil {
		return Schedule{}, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return Schedule{}, err
	}
	if _, _, err := load(ctx, s.Store, namespace, name); err != nil {
		return Schedule{}, err
	}
	changed, err := entryOf(namespace, name).Change(ctx, s.Store, func(x *Schedule) error { return change(x, now) }, (*Schedule).isEmpty)
	if err != nil {
		return changed, err
	}
	_, err = s.tell(ctx)
	return changed, err
}

// tell makes all processes read the schedules again.
func (s *Schedules) tell(ctx context.Context) (store.Registered, error) {
	return store.Overwrite(ctx, s.Store, store.Registration{Kind: store.RegistrySchedules, Key: changes, Value: []byte("1 {}")})
}

// Follow updates the schedule of a workflow to the version that `latest` means. Without a version, or without a schedule in it, the
// schedule is deleted. Follow is called when a version was deployed or removed. If nothing changes, an earlier caller may have been
// interrupted before it notified the others, and Follow notifies them.
func (s *Schedules) Follow(ctx context.Context, namespace, name string) error {
	p, err := s.latest(ctx, namespace, name)
	if err != nil {
		return err
	}
	if changed, err := s.follow(ctx, namespace, name, p); changed || err != nil || p.isEmpty() {
		return err
	}
	_, err = s.tell(ctx)
	return err
}

// follow is Follow, if the schedule differs from the plan read a moment ago. The deployment is read once more between reading and writing
// the schedule, so that an outdated schedule never replaces a newer one.
func (s *Schedules) follow(ctx context.Context, namespace, name string, p *plan) (changed bool, err error) {
	known, _, err := load(ctx, s.Store, namespace, name)
	if err != nil || known.Digest == p.digest || known.isEmpty() && p.isEmpty() {
		return false, err
	}
	_, err = s.change(ctx, namespace, name, func(x *Schedule, now time.Time) error {
		p, err := s.latest(ctx, namespace, name)
		if err == nil {
			x.follow(p, now)
		}
		return err
	})
	return true, err
}

// Deployed is Follow for the workflow of a definition that was deployed. Without a schedule before and now, it costs two looks.
func (s *Schedules) Deployed(ctx context.Context, d definition.Definition) error {
	w, found := dsl.Parse(d.Name(), []byte(d.Document))
	if err := found.Err(); err != nil {
		return err
	}
	if err := s.dropDamaged(ctx, w.Document.Namespace, w.Document.Name); err != nil {
		return err
	}
	if w.Schedule == nil {
		known, _, err := load(ctx, s.Store, w.Document.Namespace, w.Document.Name)
		if err != nil || known.isEmpty() {
			return err
		}
	}
	return s.Follow(ctx, w.Document.Namespace, w.Document.Name)
}

// dropDamaged removes the schedule of a workflow if it is damaged: to deploy the workflow makes it anew. It is not paused then.
func (s *Schedules) dropDamaged(ctx context.Context, namespace, name string) error {
	_, _, err := load(ctx, s.Store, namespace, name)
	if store.RefusedAs(err) != store.Corrupt {
		return err
	}
	s.Log.Warn("the schedule of a workflow was damaged, and is made anew", "workflow", namespace+"/"+name, "error", err.Error())
	return s.Store.Unregister(ctx, store.RegistrySchedules, entryOf(namespace, name).Key, store.AnyVersion)
}

// latest returns the plan of the version of a workflow that `latest` means; an empty plan without a version.
func (s *Schedules) latest(ctx context.Context, namespace, name string) (*plan, error) {
	r, digest, err := definition.Resolve(ctx, s.Store, definition.Reference{Namespace: namespace, Name: name, Version: definition.Latest})
	switch {
	case store.RefusedAs(err) == store.NoSuch:
		return &plan{}, nil
	case err != nil:
		return nil, err
	}
	return s.plan(ctx, r, digest)
}

// plan returns the plan of a definition's schedule.
func (s *Schedules) plan(ctx context.Context, r definition.Reference, digest string) (*plan, error) {
	if known := s.plans.of(digest); known != nil {
		return known, nil
	}
	d, err := definition.Load(ctx, s.Store, digest)
	if err != nil {
		return nil, err
	}
	w, found := dsl.Parse(d.Name(), []byte(d.Document))
	if err := found.Err(); err != nil {
		return nil, err
	}
	p, err := newPlan(w, r, digest, s.Compile)
	if err != nil {
		return nil, err
	}
	s.plans.keep(p)
	return p, nil
}

// noSchedule is refused as NoSuch.
func noSchedule(namespace, name string) error {
	return &store.Refusal{Code: store.NoSuch, Detail: "schedule of the workflow " + namespace + "/" + name}
}

// All returns the schedules in the order of their workflows, if ctx grants their namespaces. An unreadable schedule is an error.
func (s *Schedules) All(ctx context.Context) ([]Schedule, error) {
	known, err := all(ctx, s.Store)
	return slices.DeleteFunc(known, func(x Schedule) bool { return !definition.GrantedIn(ctx).Has(x.Workflow.Namespace) }), err
}

// readable returns the readable schedules: a damaged schedule does not prevent others from starting runs.
func (s *Schedules) readable(ctx context.Context) ([]Schedule, error) {
	known, damaged, err := read(ctx, s.Store)
	if damaged != nil {
		s.Log.Warn("some schedules cannot be read, and start nothing", "error", damaged.Error())
	}
	return known, err
}

// Now returns the schedules of a store, and the store's time.
func Now(ctx context.Context, s store.Store) ([]Schedule, time.Time, error) {
	r, err := s.Registered(ctx, store.RegistrySchedules, changes)
	if err != nil {
		if store.RefusedAs(err) == store.NoSuch {
			err = nil // nothing was ever scheduled
		}
		return nil, time.Time{}, err
	}
	known, err := all(ctx, s)
	return known, r.At, err
}

func all(ctx context.Context, s store.Store) ([]Schedule, error) {
	known, damaged, err := read(ctx, s)
	if err = cmp.Or(err, damaged); err != nil {
		return nil, err
	}
	return known, nil
}

// read returns the schedules, and the error of unreadable ones.
func read(ctx context.Context, s store.Store) (all []Schedule, damaged, err error) {
	listed, err := s.ListRegistered(ctx, store.RegistryList{Kind: store.RegistrySchedules})
	if err != nil {
		return nil, nil, err
	}
	all = []Schedule{}
	var wrong []error
	for _, r := range listed {
		if r.Key == changes {
			continue
		}
		one, err := decode(r)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if !one.isEmpty() { // otherwise it is a reserved place
			all = append(all, one)
		}
	}
	return all, errors.Join(wrong...), nil
}

// Of returns the schedule of a workflow; refused as NoSuch without one.
func (s *Schedules) Of(ctx context.Context, namespace, name string) (Schedule, error) {
	if err := definition.GrantedIn(ctx).Check(definition.Reference{Namespace: namespace, Name: name}); err != nil {
		return Schedule{}, err
	}
	found, version, err := load(ctx, s.Store, namespace, name)
	if err == nil && (version == 0 || found.isEmpty()) {
		err = noSchedule(namespace, name)
	}
	return found, err
}

// Pause prevents the schedule of a workflow from starting runs until Resume. Times and events during the pause do not count afterwards.
func (s *Schedules) Pause(ctx context.Context, namespace, name, actor, reason string) (Schedule, error) {
	return s.existing(ctx, namespace, name, func(x *Schedule, _ *plan, now time.Time) {
		if x.Paused == nil {
			x.Paused = &Pause{now, actor, reason}
		}
	})
}

// Resume ends a pause.
func (s *Schedules) Resume(ctx context.Context, namespace, name string) (Schedule, error) {
	return s.existing(ctx, namespace, name, func(x *Schedule, p *plan, now time.Time) { x.resume(p, now) })
}

// Trigger starts a run now, in addition to the runs of the schedule. Without an ID it gets a new one, which is the ID of the last run in
// the result.
func (s *Schedules) Trigger(ctx context.Context, namespace, name, id string, input any) (Schedule, error) {
	x, err := s.Of(ctx, namespace, name)
	if err != nil {
		return x, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return x, err
	}
	if id, err = s.Start(ctx, Firing{Kind: KindTrigger, For: now, At: now, ID: id, Of: x.Workflow}, input); err != nil {
		return x, err
	}
	return s.existing(ctx, namespace, name, func(x *Schedule, _ *plan, now time.Time) { x.Last = &Started{id, now, now} })
}

// existing changes a schedule that is there.
func (s *Schedules) existing(ctx context.Context, namespace, name string, change func(*Schedule, *plan, time.Time)) (Schedule, error) {
	return s.change(ctx, namespace, name, func(x *Schedule, now time.Time) error {
		if x.isEmpty() {
			return noSchedule(namespace, name)
		}
		p, err := s.plan(ctx, x.Workflow, x.Digest)
		if err == nil {
			change(x, p, now)
		}
		return err
	})
}

// reconcile follows all deployments: it finds deployments of interrupted processes.
func (s *Schedules) reconcile(ctx context.Context) error {
	deployed, err := definition.AllDeployed(ctx, s.Store, "", "")
	if err != nil {
		return err
	}
	known, err := s.readable(ctx)
	if err != nil {
		return err
	}
	follows := map[string]string{} // the digests that the schedules follow, by workflow
	for _, x := range known {
		follows[x.Workflow.Namespace+"/"+x.Workflow.Name] = x.Digest
	}
	var failed []error
	there := map[string]bool{}
	for _, d := range deployed {
		if d.Latest() == "" {
			continue
		}
		name := d.Namespace + "/" + d.Name
		if there[name] = true; follows[name] == d.Versions[0].Digest {
			continue
		}
		p, err := s.plan(ctx, definition.Reference{Namespace: d.Namespace, Name: d.Name, Version: d.Latest()}, d.Versions[0].Digest)
		if err == nil {
			_, err = s.follow(ctx, d.Namespace, d.Name, p)
		}
		failed = append(failed, err)
	}
	for _, x := range known {
		if r := x.Workflow; !there[r.Namespace+"/"+r.Name] {
			_, err := s.follow(ctx, r.Namespace, r.Name, &plan{})
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
