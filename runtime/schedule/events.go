package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Runs that events start. A listening task, as specified in the schedule, decides which events match and how they belong together: it has a
// state of its own for each group of events.

// trigger is the listener for the events of a schedule.
type trigger struct {
	program *interpreter.Program
	text    string   // specification of the listener: equal texts mean equal listeners
	all     bool     // a run takes one event for each filter; otherwise any event starts one
	types   []string // that events must have; none if any may be meant
	bytes   int      // of the document that was compiled
	divided bool     // the filters have correlations of the same names: events with other values belong to other runs
}

// onPointer is the place in a document that specifies which events start runs, and listenPointer the corresponding place in the listener.
const onPointer, listenPointer dsl.Pointer = "/schedule/on", "/do/0/on/listen/to"

// ofSchedule returns the pointer in the document for a pointer in the listener.
func ofSchedule(p dsl.Pointer) dsl.Pointer {
	if rest, within := strings.CutPrefix(string(p), string(listenPointer)); within {
		return onPointer + dsl.Pointer(rest)
	}
	return p
}

// newTrigger compiles the listener for the events of a schedule.
func newTrigger(w *dsl.Workflow, compile definition.Compile) (*trigger, error) {
	to, _ := w.Source.Data("/schedule/on").(map[string]any)
	listen := map[string]any{"to": without(to, "until")}
	if w.Schedule.Read != "" {
		listen["read"] = w.Schedule.Read
	}
	d := w.Document
	document := map[string]any{
		"document": map[string]any{"dsl": d.DSL, "namespace": d.Namespace, "name": d.Name, "version": d.Version},
		"do":       []any{map[string]any{"on": map[string]any{"listen": listen}}},
	}
	if secrets := w.Source.Data("/use/secrets"); secrets != nil {
		document["use"] = map[string]any{"secrets": secrets}
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the listener of the schedule: %w", err)
	}
	known, err := json.Marshal(listen)
	if err != nil {
		return nil, fmt.Errorf("encode the filters of the schedule: %w", err)
	}
	sum := sha256.Sum256(known)
	p, err := compile(definition.Definition{File: "schedule.on", Document: string(text)})
	if err != nil {
		return nil, err
	}
	t := &trigger{program: p, text: hex.EncodeToString(sum[:12]), all: w.Schedule.On.Mode == "all", bytes: len(text), divided: isDivided(w.Schedule.On.Filters())}
	for _, f := range t.listening(time.Time{}).EventFilters() {
		if f.Type == "" {
			t.types = nil
			break
		}
		t.types = append(t.types, f.Type)
	}
	return t, nil
}

func isDivided(filters []*dsl.EventFilter) bool {
	names := func(f *dsl.EventFilter) []string { return slices.Sorted(maps.Keys(f.Correlate)) }
	return !slices.ContainsFunc(filters, func(f *dsl.EventFilter) bool {
		return len(f.Correlate) == 0 || !slices.Equal(names(f), names(filters[0]))
	})
}

func without(object map[string]any, name string) map[string]any {
	rest := map[string]any{}
	for key, v := range object {
		if key != name {
			rest[key] = v
		}
	}
	return rest
}

// listening returns a state that waits for the first event.
func (t *trigger) listening(now time.Time) *interpreter.State {
	s := interpreter.NewState(t.program.Workflow.Document.Namespace, "schedule")
	interpreter.Step(t.program, s, interpreter.Start{Input: map[string]any{}}, now)
	return s
}

// mayTake reports whether an event can fit a filter.
func (t *trigger) mayTake(event map[string]any) bool {
	kind, _ := event["type"].(string)
	return len(t.types) == 0 || slices.Contains(t.types, kind)
}

// take passes an event to the listener, and reports whether it was consumed.
func (t *trigger) take(s *interpreter.State, event map[string]any, now time.Time) bool {
	r := interpreter.Step(t.program, s, interpreter.Arrived{Event: event}, now)
	return slices.ContainsFunc(r.History, func(e interpreter.HistoryEvent) bool { return e.Type == interpreter.EventConsumed })
}

// Event is an event that is published.
type Event struct {
	Key        string // by which it is known
	Attributes map[string]any
	Cause      *store.Instance // the first of the runs that have led to it; nil if none has
}

// Heard is the effect of an event on schedules.
type Heard struct {
	Runs    []store.Instance // that were started
	Waits   bool             // it waits for others, with which it starts a run
	Refused []Refused        // schedules that take the event and started nothing
}

// Refused is a schedule that takes an event and started nothing.
type Refused struct {
	Workflow definition.Reference
	Reason   string
}

func (h *Heard) add(other Heard) {
	h.Runs, h.Waits, h.Refused = append(h.Runs, other.Runs...), h.Waits || other.Waits, append(h.Refused, other.Refused...)
}

// Publish starts the runs that an event starts, in the namespaces that allowed is true of, or in all of them if it is nil. Doing it again with the same
// event starts nothing more.
func (s *Schedules) Publish(ctx context.Context, e Event, allowed func(namespace string) bool) (heard Heard, err error) {
	all, now, err := s.onEvents(ctx)
	if err != nil {
		return heard, err
	}
	for n := range all {
		x := &all[n]
		if allowed != nil && !allowed(x.Workflow.Namespace) {
			continue
		}
		one, err := s.arrived(ctx, x, e, now)
		if heard.add(one); err != nil {
			return heard, err
		}
	}
	return heard, nil
}

// Listening returns the events that a schedule waits for before the first event; empty if events do not start its runs.
func (s *Schedules) Listening(ctx context.Context, x *Schedule) (all []interpreter.Listening, err error) {
	if !x.Events {
		return nil, nil
	}
	p, err := s.plan(ctx, x.Workflow, x.Digest)
	if err != nil || p.trigger == nil {
		return nil, err
	}
	all = interpreter.ListeningTasks(p.trigger.program, p.trigger.listening(s.Now()), nil)
	for _, l := range all {
		for n, at := range l.Missing {
			l.Missing[n] = ofSchedule(at)
		}
	}
	return all, nil
}

// onEvents returns the schedules that events start.
func (s *Schedules) onEvents(ctx context.Context) ([]Schedule, time.Time, error) {
	changed, err := s.changes(ctx)
	if err != nil || changed.Version == 0 {
		return nil, time.Time{}, err
	}
	s.mu.Lock()
	known, version, read := s.events, s.eventsVersion, s.eventsRead
	s.mu.Unlock()
	now := s.Now()
	if version == changed.Version && now.Sub(read) < listEvery {
		return known, changed.At, nil
	}
	all, err := s.readable(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	all = slices.DeleteFunc(all, func(x Schedule) bool { return !x.Events })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events, s.eventsVersion, s.eventsRead = all, changed.Version, now
	return all, changed.At, nil
}

// arrived starts the runs of one schedule for an event. A paused schedule that takes the event refuses it.
func (s *Schedules) arrived(ctx context.Context, x *Schedule, e Event, now time.Time) (heard Heard, err error) {
	p, err := s.plan(ctx, x.Workflow, x.Digest)
	unavailable := errors.As(err, new(*definition.UnavailableError))
	switch {
	case err != nil && x.Paused != nil:
		return heard, nil
	case err != nil && !unavailable:
		s.Log.Warn("an event could not start a run", "workflow", x.Workflow.String(), "error", err.Error())
		return heard, nil // other schedules get it anyway
	case err != nil:
		return heard, err
	}
	if p.trigger == nil || !p.trigger.mayTake(e.Attributes) {
		return heard, nil
	}
	state := p.trigger.listening(now)
	switch {
	case !p.trigger.take(state, e.Attributes, now):
		return heard, nil
	case x.Paused != nil:
		return p.refuse("it is " + x.Paused.text()), nil
	case p.trigger.all:
		return s.gather(ctx, gathering{x.Since, p, now, e.Cause}, e, state)
	}
	return s.begin(ctx, gathering{plan: p, now: now, cause: e.Cause}, state, []string{e.Key})
}

// refuse returns that the schedule starts nothing.
func (p *plan) refuse(reason string) Heard {
	return Heard{Refused: []Refused{{p.workflow, reason}}}
}

// triggered returns the run of a group of events.
func (p *plan) triggered(state *interpreter.State, keys []string, now time.Time) Triggered {
	f := Firing{Kind: KindOn, For: now, At: now, ID: eventsID(p.workflow.Name, keys), Of: p.workflow}
	if state.Fault != nil {
		return Triggered{Firing: f, Fault: state.Fault}
	}
	return Triggered{Firing: f, Input: state.Output}
}

// begin starts the run of a group of events. An error that prevents the start is recorded, and the schedule continues.
func (s *Schedules) begin(ctx context.Context, g gathering, state *interpreter.State, keys []string) (Heard, error) {
	p, now := g.plan, g.now
	f := p.triggered(state, keys, now)
	f.Cause = g.cause
	var err error
	if f.Fault != nil {
		err = &RefusedError{f.Fault}
	} else {
		_, err = s.Start(ctx, f.Firing, f.Input)
	}
	if err == nil {
		s.note(ctx, p, Started{f.ID, now, now})
		return Heard{Runs: []store.Instance{{Namespace: p.workflow.Namespace, ID: f.ID}}}, nil
	}
	if !errors.As(err, new(*RefusedError)) {
		return Heard{}, err
	}
	s.Log.Warn("an event could not start a run", "run", p.workflow.Namespace+"/"+f.ID, "workflow", p.workflow.String(), "error", err.Error())
	return p.refuse(err.Error()), s.failed(ctx, p, Failure{f.ID, now, now, err.Error()})
}

// noteEvery is how often a process notes at most which run events have started last: it is one entry for all of them.
const noteEvery = time.Second

// note records which run was started last. It is only informative: the run exists in any case.
func (s *Schedules) note(ctx context.Context, p *plan, last Started) {
	name := p.workflow.Namespace + "/" + p.workflow.Name
	s.mu.Lock()
	recently := last.At.Sub(s.noted[name]) < noteEvery
	if !recently {
		s.noted[name] = last.At
	}
	s.mu.Unlock()
	if recently {
		return
	}
	_, err := entryOf(p.workflow.Namespace, p.workflow.Name).Change(ctx, s.Store, func(x *Schedule) error {
		if x.isEmpty() {
			return errNothing
		}
		x.Last = &last
		return nil
	}, (*Schedule).isEmpty)
	if err != nil && !errors.Is(err, errNothing) {
		s.Log.Warn("it could not be noted which run an event has started", "workflow", p.workflow.String(), "error", err.Error())
	}
}

// failed records a run that could not be started.
func (s *Schedules) failed(ctx context.Context, p *plan, f Failure) error {
	_, err := entryOf(p.workflow.Namespace, p.workflow.Name).Change(ctx, s.Store, func(x *Schedule) error {
		if x.isEmpty() {
			return errNothing
		}
		x.fail(f)
		return nil
	}, (*Schedule).isEmpty)
	if errors.Is(err, errNothing) {
		err = nil
	}
	return err
}

// eventsID returns the ID of the run that some events start. It is the same for every process, so that only one run starts.
func eventsID(workflow string, keys []string) string {
	sum := sha256.Sum256([]byte(strings.Join(keys, " ")))
	return fmt.Sprintf("%s-%s-%s", workflow, KindOn, hex.EncodeToString(sum[:12]))
}
